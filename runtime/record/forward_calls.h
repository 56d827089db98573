// Which call of the forward made the autograd node that runs: LibTorch numbers nodes for each
// thread, so a call that is seen in the forward is found again in its backward. Known are the last
// calls that waited or copied.
#pragma once

#include "runtime/protocol/event.h"

namespace devsan::runtime {

// In a kernel below autograd, of the operator `op` ("aten::index"), which lives as long as the
// process.
void noteForwardCall(const char *op, StackId stack);

// Of the node that the calling thread runs; 0 where none is known.
StackId forwardCall();

} // namespace devsan::runtime
