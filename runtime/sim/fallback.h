// The kernel of every operator that has none of its own for the simulated devices: it calls the operator's CPU kernel on
// aliases of the arguments and hands the results back as device tensors.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace devsan::sim {

// Calls the kernel of `cpu_key`, which is CPU, SparseCPU, SparseCsrCPU, QuantizedCPU or NestedTensorCPU: the counterpart
// of the key that this is registered for.
template <c10::DispatchKey cpu_key>
void runOnCpu(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);

} // namespace devsan::sim
