// Convolution is a composite that picks a kernel by device; on a CUDA tensor it finds ones that
// exist for GPUs alone. The CPU's own choice, oneDNN included, is taken instead. Operands of
// different devices are refused as on a GPU with cuDNN, which is where real programs meet that
// error.

#include "runtime/sim/dispatch/device_check.h"
#include "runtime/sim/dispatch/fallback.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

constexpr std::size_t kOperands = 3; // input, weight, bias

bool onOneDevice(const c10::IValue *arguments) {
  const at::Tensor &input = arguments[0].toTensor();
  for (std::size_t i = 1; i < kOperands; ++i)
    if (arguments[i].isTensor() && arguments[i].toTensor().defined() &&
        arguments[i].toTensor().device() != input.device())
      return false;
  return true;
}

// What cuDNN's path says, for an input on a CUDA device.
std::string refusal(const c10::IValue *arguments) {
  const at::Tensor &input = arguments[0].toTensor(), &weight = arguments[1].toTensor();
  auto other_type = [&](const char *name, const at::Tensor &parameter) {
    return c10::str("Input type (", input.toString(), ") and ", name, " type (",
                    parameter.toString(), ") should be the same");
  };
  if (!weight.is_cuda())
    return other_type("weight", weight);
  if (weight.device() != input.device())
    return c10::str("Expected all tensors to be on the same device, but got weight is on ",
                    weight.device(), ", different from other tensors on ", input.device(),
                    " (when checking argument in method wrapper_CUDA__cudnn_convolution)");
  at::Tensor bias = arguments[2].toTensor();
  if (!bias.is_cuda())
    return other_type("bias", bias);
  return c10::str("Expected all tensors to be on the same device, but found at least two devices, ",
                  input.device(), " and ", bias.device(), "!");
}

void convolution(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                 torch::jit::Stack *stack) {
  const c10::IValue *arguments = stack->data() + stack->size() - op.schema().arguments().size();
  if (C10_LIKELY(onOneDevice(arguments)))
    runOnCpu<TensorKind::kDense>(op, keys, stack);
  else if (arguments[0].toTensor().is_cuda())
    refuseOperands(op, *stack, refusal(arguments));
  else
    runComposite(op, c10::DispatchKey::CompositeExplicitAutograd, stack);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("convolution", torch::CppFunction::makeFromBoxedFunction<&convolution>());
}

} // namespace devsan::sim
