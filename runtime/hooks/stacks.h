// Call stacks of the calling thread, native and Python frames in call order, as the log stores
// them. May be called from any thread, inside operators; must not be called from a signal handler.
// A stack that was taken before is recognised by its raw addresses and costs neither symbols nor
// locks.
#pragma once

#include "runtime/log_format.h"

#include <cstddef>

namespace devsan::runtime {

class Interner;

// The innermost frames of a stack are kept.
inline constexpr std::size_t kMaxFrames = 64;

// Once, before the other functions.
void prepareStacks();

// Without the runtime's own frames. Sets `is_new` where the stack was not in the log before.
StackId captureStack(Interner &interner, bool &is_new);

// For the child after fork, whose log knows no stack.
void forgetStacks();

} // namespace devsan::runtime
