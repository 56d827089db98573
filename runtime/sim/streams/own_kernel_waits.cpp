// Kernels that the simulator has of its own wait as the fallback does, so that none has to think of
// it.
#include "blocking.h"
#include "runtime/operators/operator_wrapper.h"
#include "runtime/sim/operators/library.h"

#include <algorithm>
#include <memory>
#include <string_view>

namespace devsan::sim {
namespace {

// Kernels that announce their waits, because they wait in the middle of their work.
bool announcesOwnWait(std::string_view name) {
  return name == "aten::copy_" || name == "aten::_local_scalar_dense";
}

class WaitBeforeKernel : public c10::OperatorKernel {
public:
  WaitBeforeKernel(runtime::SafeKernelFunction kernel, runtime::EffectFunction effect)
      : kernel_(std::move(kernel)), effect_(effect) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    std::size_t count = op.schema().arguments().size();
    waitFor(effect_, {stack->data() + (stack->size() - count), count});
    WaitedScope waited; // the kernel may hand over to the fallback
    kernel_.callBoxed(op, keys, stack);
  }

private:
  runtime::SafeKernelFunction kernel_;
  runtime::EffectFunction effect_;
};

struct KeyOfLayout {
  runtime::Layouts layout;
  c10::DispatchKey key;
};
constexpr KeyOfLayout kKeys[] = {
    {runtime::kDense, c10::DispatchKey::CUDA},
    {runtime::kSparse, c10::DispatchKey::SparseCUDA},
    {runtime::kSparseCompressed, c10::DispatchKey::SparseCsrCUDA},
    {runtime::kQuantized, c10::DispatchKey::QuantizedCUDA},
    {runtime::kNested, c10::DispatchKey::NestedTensorCUDA},
};

DEVSAN_SIM_AT_LOAD(DEVSAN_SIM_WRAPPERS) {
  for (const auto &[layout, key] : kKeys) {
    runtime::KernelRegistrar registrar("aten", key);
    for (const runtime::OperatorEffect &row : runtime::operatorEffects()) {
      if (!(row.layouts & layout) || announcesOwnWait(row.name))
        continue;
      auto op = c10::Dispatcher::singleton().findSchema({row.name, row.overload});
      if (!op || !op->hasKernelForDispatchKey(key))
        continue;
      if (auto wrapped = runtime::findKernel(row.name, row.overload, key))
        registrar.wrap(*wrapped, std::make_unique<WaitBeforeKernel>(wrapped->kernel, row.effect));
    }
  }
}

} // namespace
} // namespace devsan::sim
