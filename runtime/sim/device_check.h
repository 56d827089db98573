// ATen's rules on operands of different devices, and its words when it refuses them. The fallback must apply them
// itself: the CPU kernel that it calls sees only CPU tensors.
#pragma once

#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include "operator_facts.h"

namespace devsan::sim {

// Called when the operands on top of `stack` are not all on one device. Throws ATen's error after telling the mismatch
// observer, or returns if the operator takes them as they are (CPU scalars, CPU indices). True: the operator has run, and
// its results have replaced the arguments on the stack.
bool checkMixedDevices(const c10::OperatorHandle &op, const OperatorFacts &facts, torch::jit::Stack *stack);

} // namespace devsan::sim
