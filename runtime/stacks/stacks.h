// Call stacks of the calling thread, native and Python frames in call order, as the log stores
// them. May be called from any thread, inside operators; must not be called from a signal handler.
// A stack that was taken before is recognised by its raw addresses and costs neither symbols nor
// locks.
#pragma once

#include "runtime/protocol/log_format.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace devsan::runtime {

class Interner;

// Of a stack together with that of the call for which its thread works.
inline constexpr std::size_t kMaxStack = 2 * kMaxFrames;

// Once, before the other functions.
void prepareStacks();

// What a stack goes on with, and a hash of it.
struct StackTail {
  std::span<const FrameRecord> frames;
  std::uint64_t identity = 0;
};

// Without the runtime's own frames, and with those of `tail` after them. Sets `is_new` where the
// stack was not in the log before.
StackId captureStack(Interner &interner, const StackTail &tail, bool &is_new);

// Frames with their names in the log, and a hash of them.
struct NamedFrames {
  std::vector<FrameRecord> frames; // at most kMaxFrames
  std::uint64_t identity = 0;
};

// The frames themselves. Those that were taken before are shared: never null.
std::shared_ptr<const NamedFrames> captureFrames(Interner &interner);

// For the child after fork, whose log knows no stack.
void forgetStacks();

} // namespace devsan::runtime
