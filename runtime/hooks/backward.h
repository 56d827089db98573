// Where a backward was started. Autograd runs the nodes of a device on a thread of its own, whose
// stack knows nothing of the program; so the stack of each call of the engine is taken when it
// starts, and travels in LibTorch's ThreadLocalDebugInfo to the threads that work for it. Operators
// cost nothing more; a backward costs one stack.
#pragma once

#include "runtime/log_format.h"

#include <cstddef>
#include <span>

namespace devsan::runtime {

// Once at start, after LibTorch is loaded.
void followBackwards();

// Adds to `frames`, of which `count` are filled with the calling thread's stack, those of the call
// that started the backward in which this thread works, as if that call had made it. Returns the
// new count. Any thread.
std::size_t appendBackwardStart(std::span<FrameRecord> frames, std::size_t count);

} // namespace devsan::runtime
