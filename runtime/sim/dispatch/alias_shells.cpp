#include "alias_shells.h"

#include <array>
#include <typeinfo>

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include "runtime/sim/memory/memory.h"

namespace devsan::sim {
namespace {

using c10::StorageImpl;
using c10::TensorImpl;
using TensorPointer = c10::intrusive_ptr<TensorImpl, c10::UndefinedTensorImpl>;

// Of memory that somebody else owns.
c10::DataPtr unowned(StorageImpl &device) {
  return {kernelAddress(device._mutable_data_ptr_no_checks().get()), c10::Device(c10::kCPU)};
}

class Shell final : public TensorImpl {
public:
  // TensorImpl's constructor would go by the mode of the thread.
  explicit Shell(bool inference)
      : TensorImpl(c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<float>(),
                   c10::Device(c10::kCPU)),
        inference_(inference) {
    if (version_counter_.enabled() == inference)
      version_counter_ = inference ? c10::VariableVersion() : c10::VariableVersion(0);
  }

  void become(const TensorImpl &tensor, c10::DispatchKeySet keys, StorageImpl *shared) {
    copy_generic_tensor_metadata(&tensor, this);
    key_set_ = keys;
    device_opt_ = c10::Device(c10::kCPU);
    StorageImpl &device = *tensor.unsafe_storage().unsafeGetStorageImpl();
    if (C10_UNLIKELY(shared != nullptr))
      storage_ = c10::Storage(c10::intrusive_ptr<StorageImpl>::reclaim_copy(shared));
    else if (C10_UNLIKELY(!storage_))
      storage_ = c10::Storage(makeCpuStorage(device));
    else
      moveStorageTo(device);
  }
  // Nothing is left on it that the next become() would not replace.
  bool reusable() const {
    return autograd_meta() == nullptr && extra_meta_ == nullptr &&
           version_counter_.enabled() != inference_;
  }
  bool inference() const { return inference_; }
  void keepStorageIfOwn() {
    if (C10_UNLIKELY(!isOwn(storage_)))
      storage_ = c10::Storage();
  }

private:
  void moveStorageTo(StorageImpl &device) {
    StorageImpl &own = *storage_.unsafeGetStorageImpl();
    own.set_data_ptr_noswap(unowned(device));
    if (own.nbytes() != device.nbytes())
      own.set_nbytes(device.nbytes());
  }
  // As makeCpuStorage() made it: the kernel has not resized it, given the alias another, or kept
  // it.
  static bool isOwn(const c10::Storage &storage) {
    if (!storage || storage.use_count() != 1)
      return false;
    StorageImpl &impl = *storage.unsafeGetStorageImpl();
    const c10::DataPtr &data = impl._mutable_data_ptr_no_checks();
    return data.get_context() == nullptr && data.get_deleter() == &c10::detail::deleteNothing &&
           impl.allocator() == kernelAllocator() && impl.resizable();
  }

  const bool inference_;
};

// Tensors of static storage duration are freed when this thread's shells are gone.
thread_local bool closed = false;

class Shells {
public:
  explicit Shells(bool inference) : inference_(inference) {}
  ~Shells() { closed = true; }

  TensorPointer take() {
    return C10_LIKELY(count_ > 0) ? std::move(kept_[--count_])
                                  : TensorPointer(c10::make_intrusive<Shell>(inference_));
  }
  void keep(TensorPointer shell) {
    if (count_ < kept_.size())
      kept_[count_++] = std::move(shell);
  }

private:
  std::array<TensorPointer, 16> kept_;
  std::size_t count_ = 0;
  const bool inference_;
};

// A tensor made in inference mode has no version counter, whichever mode the operator runs in; all
// else that a shell carries is replaced by become().
struct ShellsByMode {
  Shells tracked{false}, inference{true};
  Shells &of(bool is_inference) { return C10_UNLIKELY(is_inference) ? inference : tracked; }
};
thread_local ShellsByMode shells;

} // namespace

c10::intrusive_ptr<StorageImpl> makeCpuStorage(StorageImpl &device) {
  if (C10_UNLIKELY(isCopyOnWrite(device))) {
    auto clone = c10::impl::cow::lazy_clone_storage(device);
    c10::DataPtr &data = clone->_mutable_data_ptr_no_checks();
    const c10::DeleterFnPtr deleter = data.get_deleter();
    void *address = kernelAddress(data.get());
    data = c10::DataPtr(address, data.release_context(), deleter, c10::Device(c10::kCPU));
    clone->set_allocator(kernelAllocator());
    return clone;
  }
  return c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(),
                                          static_cast<std::int64_t>(device.nbytes()),
                                          unowned(device), kernelAllocator(), true);
}

at::Tensor takeAlias(const at::Tensor &tensor, c10::DispatchKeySet keys, StorageImpl *shared) {
  TensorImpl &impl = *tensor.unsafeGetTensorImpl();
  TensorPointer shell = C10_UNLIKELY(closed)
                            ? TensorPointer(c10::make_intrusive<Shell>(impl.is_inference()))
                            : shells.of(impl.is_inference()).take();
  static_cast<Shell *>(shell.get())->become(impl, keys, shared);
  return at::Tensor(std::move(shell));
}

void giveBackAlias(at::Tensor &alias) {
  const TensorImpl &impl = *alias.unsafeGetTensorImpl();
  const bool is_only_ours = alias.use_count() == 1 && alias.weak_use_count() == 1;
  if (typeid(impl) != typeid(Shell) || !is_only_ours || closed)
    return;
  TensorPointer pointer = alias.unsafeReleaseIntrusivePtr();
  auto *shell = static_cast<Shell *>(pointer.get());
  if (!shell->reusable())
    return;
  shell->keepStorageIfOwn();
  shells.of(shell->inference()).keep(std::move(pointer));
}

} // namespace devsan::sim
