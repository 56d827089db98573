// Follows data on the thread that handles it: from a copy that brought it to the host until it is
// copied to a device again, and from a collective that gathered it until it is combined. A thread
// that has nothing pending runs no code of ours between hooked operators; one that has runs a
// RecordFunction callback per operator, for a bounded number of operators after the last such
// event.
#pragma once

#include "runtime/operators/effects.h"
#include "runtime/protocol/event.h"

#include <ATen/core/Tensor.h>

namespace devsan::runtime {

// After a copy between devices: begins to follow `to` where it left a device, reports a round trip
// where `from` had.
void noteCopy(const at::Tensor &to, const at::Tensor &from, const Effect &effect, StackId stack);

// Wraps the gathering collectives of c10d, as far as this LibTorch has them.
void installProvenance();

// For the child after fork, whose log has none of the stacks.
void forgetProvenance();

} // namespace devsan::runtime
