// Where a backward was started. Autograd runs the nodes of a device on a thread of its own, whose
// stack knows nothing of the program; so the stack of each call of the engine is taken when it
// starts, and travels in LibTorch's ThreadLocalDebugInfo to the threads that work for it. Operators
// cost nothing more; a backward costs one stack, and nothing in programs without devices.
#pragma once

#include "runtime/stacks/stacks.h"

namespace devsan::runtime {

// Once at start, after LibTorch is loaded.
void followBackwards();

// The frames of the call that started the backward in which the calling thread works, as they
// continue its stack, as if that call had made it; none elsewhere. They live as long as the
// operator that runs.
StackTail backwardStart();

} // namespace devsan::runtime
