// The kernel of every operator that has none of its own for the simulated devices: it calls the
// operator's CPU kernel on aliases of the arguments and hands the results back as device tensors.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "operator_facts.h"

namespace devsan::sim {

// Registered for the CUDA key of a kind of tensors; calls the kernel of that kind's CPU key.
template <TensorKind kind>
void runOnCpu(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);

} // namespace devsan::sim
