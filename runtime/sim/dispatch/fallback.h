// The kernel of every operator that has none of its own for the simulated devices: it calls the
// operator's CPU kernel on aliases of the arguments and hands the results back as device tensors.
#pragma once

#include <string_view>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "runtime/sim/operators/operator_facts.h"

namespace devsan::sim {

// Registered for the CUDA key of a kind of tensors; calls the kernel of that kind's CPU key.
template <TensorKind kind>
void runOnCpu(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);

// Whether the operator is one whose CUDA kernels the fallback replaces as a whole. Others' may be
// host code only (c10d), and the CPU has no kernel for them.
inline bool isAtens(std::string_view name) {
  return name.starts_with("aten::") || name.starts_with("quantized::") ||
         name.starts_with("_quantized::");
}

} // namespace devsan::sim
