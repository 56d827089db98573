// Softmax from half precision to float in one operator (half_to_float), which the CPU refuses: what
// softmax(x, dtype=torch.float32) is on a GPU.
#include <ATen/core/Tensor.h>

#include "runtime/sim/dispatch/fallback.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using torch::jit::Stack;

void widen(c10::IValue &tensor) {
  tensor = tensor.toTensor().to(at::kFloat);
}

void softmax(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
  c10::IValue *arguments = stack->data() + stack->size() - op.schema().arguments().size();
  enum { kSelf, kDim, kHalfToFloat };
  if (arguments[kHalfToFloat].toBool()) {
    const auto type = arguments[kSelf].toTensor().scalar_type();
    TORCH_CHECK(type == at::kHalf || type == at::kBFloat16,
                "conversion is supported for Half and BFloat16 type only");
    widen(arguments[kSelf]);
    arguments[kHalfToFloat] = false;
  }
  runOnCpu<TensorKind::kDense>(op, keys, stack);
}

void softmaxBackward(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
  c10::IValue *arguments = stack->data() + stack->size() - op.schema().arguments().size();
  enum { kGrad, kOutput, kDim, kInputType };
  const at::ScalarType input_type = arguments[kInputType].toScalarType();
  const bool narrows = arguments[kGrad].toTensor().scalar_type() != input_type;
  if (narrows) {
    widen(arguments[kGrad]);
    widen(arguments[kOutput]);
    arguments[kInputType] = at::kFloat;
  }
  runOnCpu<TensorKind::kDense>(op, keys, stack);
  if (narrows)
    stack->back() = stack->back().toTensor().to(input_type);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  for (const char *name : {"_softmax", "_softmax.out", "_log_softmax", "_log_softmax.out"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&softmax>());
  for (const char *name : {"_softmax_backward_data", "_log_softmax_backward_data"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&softmaxBackward>());
}

} // namespace devsan::sim
