#include "alias_shells.h"

#include <array>
#include <typeinfo>

#include <c10/core/TensorImpl.h>

namespace devsan::sim {
namespace {

using c10::TensorImpl;
using TensorPointer = c10::intrusive_ptr<TensorImpl, c10::UndefinedTensorImpl>;

class Shell final : public TensorImpl {
public:
  Shell()
      : TensorImpl(c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<float>(),
                   c10::Device(c10::kCPU)) {}

  void become(const TensorImpl &tensor, c10::DispatchKeySet keys, c10::Storage &&storage) {
    copy_generic_tensor_metadata(&tensor, this);
    key_set_ = keys;
    device_opt_ = c10::Device(c10::kCPU);
    storage_ = std::move(storage);
  }
  // Nothing is left on it that the next become() would not replace.
  bool reusable() const { return autograd_meta() == nullptr && extra_meta_ == nullptr; }
  void letGoOfStorage() { storage_ = c10::Storage(); }
};

// Tensors of static storage duration are freed when this thread's shells are gone.
thread_local bool closed = false;

class Shells {
public:
  ~Shells() { closed = true; }

  TensorPointer take() {
    return C10_LIKELY(count_ > 0) ? std::move(kept_[--count_])
                                  : TensorPointer(c10::make_intrusive<Shell>());
  }
  void keep(TensorPointer shell) {
    if (count_ < kept_.size())
      kept_[count_++] = std::move(shell);
  }

private:
  std::array<TensorPointer, 16> kept_;
  std::size_t count_ = 0;
};

thread_local Shells shells;

} // namespace

at::Tensor takeAlias(const at::Tensor &tensor, c10::DispatchKeySet keys, c10::Storage storage) {
  TensorPointer shell =
      C10_UNLIKELY(closed) ? TensorPointer(c10::make_intrusive<Shell>()) : shells.take();
  static_cast<Shell *>(shell.get())
      ->become(*tensor.unsafeGetTensorImpl(), keys, std::move(storage));
  return at::Tensor(std::move(shell));
}

void giveBackAlias(at::Tensor &alias) {
  const TensorImpl &impl = *alias.unsafeGetTensorImpl();
  if (typeid(impl) != typeid(Shell) || !alias.getIntrusivePtr().is_uniquely_owned() || closed)
    return;
  TensorPointer pointer = alias.unsafeReleaseIntrusivePtr();
  auto *shell = static_cast<Shell *>(pointer.get());
  if (!shell->reusable())
    return;
  shell->letGoOfStorage();
  shells.keep(std::move(pointer));
}

} // namespace devsan::sim
