// ATen's rules on operands of different devices, and its words when it refuses them. The fallback
// must apply them itself: the CPU kernel that it calls sees only CPU tensors.
#pragma once

#include <string>

#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include "runtime/sim/operators/operator_facts.h"

namespace devsan::sim {

enum class MixedDevices {
  kAccepted,  // the operator takes the operands as they are (CPU scalars, CPU indices)
  kRan,       // it has run, and its results have replaced the arguments on the stack
  kRanOnHost, // so it has, writing to a host tensor
};

// Called when the operands on top of `stack` are not all on one device. Throws ATen's error after
// telling the mismatch observer, if the operator refuses them.
MixedDevices checkMixedDevices(const c10::OperatorHandle &op, const OperatorFacts &facts,
                               torch::jit::Stack *stack);

// Runs the composite kernel registered for `key` on operands of different devices. What it says
// when it refuses them is thrown after the mismatch observer has been told.
void runComposite(const c10::OperatorHandle &op, c10::DispatchKey key, torch::jit::Stack *stack);

// Throws `message` after the mismatch observer has been told.
[[noreturn]] void refuseOperands(const c10::OperatorHandle &op, const torch::jit::Stack &stack,
                                 const std::string &message);

} // namespace devsan::sim
