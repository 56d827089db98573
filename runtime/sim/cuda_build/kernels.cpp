// The CPU's kernels under the CUDA keys of a CUDA build, over its own, which launch kernels that no
// device here runs. What has no kernel stays PyTorch's: it makes tensors, or views of them, or
// copies between devices.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/operators/operator_wrapper.h"
#include "runtime/sim/dispatch/fallback.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

constexpr std::string_view kOwnHostCode[] = {"aten::_local_scalar_dense",
                                             "aten::_pin_memory",
                                             "aten::_reshape_alias",
                                             "aten::as_strided",
                                             "aten::copy_",
                                             "aten::empty.memory_format",
                                             "aten::empty_strided",
                                             "aten::is_pinned",
                                             "aten::record_stream",
                                             "aten::resize_",
                                             "aten::set_",
                                             "aten::set_.source_Storage",
                                             "aten::set_.source_Storage_storage_offset",
                                             "aten::set_.source_Tensor",
                                             "aten::unfold",
                                             "aten::view"};

bool isReplaced(const std::string &name) {
  return isAtens(name) && std::ranges::find(kOwnHostCode, name) == std::end(kOwnHostCode);
}

template <TensorKind kind> void replaceKernels() {
  const c10::DispatchKey key = kCudaKeys[static_cast<int>(kind)];
  std::map<std::string, torch::Library *> libraries; // for the life of the process
  for (const c10::OperatorName &op :
       c10::Dispatcher::singleton().getRegistrationsForDispatchKey(key)) {
    const std::string name = toString(op);
    if (!isReplaced(name))
      continue;
    const std::string space = op.name.substr(0, op.name.find("::"));
    torch::Library *&library = libraries[space];
    if (library == nullptr)
      library = new torch::Library(torch::Library::IMPL, space, key, __FILE__, __LINE__);
    library->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&runOnCpu<kind>>());
  }
}

// Within one device a copy is a kernel where it converts or rearranges.
class CopyWithinDevice : public c10::OperatorKernel {
public:
  explicit CopyWithinDevice(runtime::SafeKernelFunction own) : own_(std::move(own)) {}
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    const c10::IValue *arguments = stack->data() + stack->size() - 3;
    if (arguments[0].toTensor().device() == arguments[1].toTensor().device())
      runOnCpu<TensorKind::kDense>(op, keys, stack);
    else
      own_.callBoxed(op, keys, stack);
  }

private:
  runtime::SafeKernelFunction own_;
};

} // namespace

DEVSAN_SIM_AT_LOAD(DEVSAN_SIM_OVER_CUDA) {
  replaceKernels<TensorKind::kDense>();
  replaceKernels<TensorKind::kSparse>();
  replaceKernels<TensorKind::kSparseCsr>();
  replaceKernels<TensorKind::kQuantized>();
  replaceKernels<TensorKind::kNested>();
  if (auto copy = runtime::findKernel("aten::copy_", "", c10::DispatchKey::CUDA))
    runtime::KernelRegistrar("aten", c10::DispatchKey::CUDA)
        .wrap(*copy, std::make_unique<CopyWithinDevice>(copy->kernel));
}

} // namespace devsan::sim
