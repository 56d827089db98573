// Call stacks of the calling thread, native and Python frames in call order, as the log stores
// them. May be called from any thread, inside operators; must not be called from a signal handler.
#pragma once

#include "runtime/log_format.h"

#include <cstddef>
#include <span>

namespace devsan::runtime {

class Interner;

inline constexpr std::size_t kMaxFrames = 64;
// Of a stack together with that of the call for which its thread works.
inline constexpr std::size_t kMaxStack = 2 * kMaxFrames;

// Fills `frames` innermost first, without the runtime's own frames, and returns how many. Names of
// Python frames are interned on the way.
std::size_t captureStack(Interner &interner, std::span<FrameRecord> frames);

// To be called in the child after a fork.
void useForkSafeStacks();

} // namespace devsan::runtime
