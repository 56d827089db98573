// Kernels written by hand with the device check that ATen's generated CUDA wrapper makes before
// every kernel: checked<&kernel>() is what a stem in ops/ registers for an operator that takes
// several tensors. Called on the thread of the operator; allocates only to refuse.
#pragma once

#include <torch/library.h>

#include "device_check.h"

namespace devsan::sim {

template <auto kernel>
void runChecked(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  static const c10::KernelFunction function =
      c10::KernelFunction::makeFromUnboxedRuntimeFunction(kernel);
  checkMixedDevices(op, operatorFacts(op), stack);
  function.callBoxed(op, keys, stack);
}

template <auto kernel> torch::CppFunction checked() {
  return torch::CppFunction::makeFromBoxedFunction<&runChecked<kernel>>();
}

} // namespace devsan::sim
