// The return addresses of the calling thread's native frames. Any thread, inside operators, not in
// a signal handler. On x86-64 a frame that was met before costs a few nanoseconds, without a lock
// and without allocating; elsewhere, and for stacks with frames that it does not understand, the
// system's unwinder does the work. No LibTorch in here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace devsan::runtime {

struct NativeStack {
  // Python frames are inserted, our own frames are dropped, and deep chains of calls between the
  // user's frame and the operator are common.
  static constexpr std::size_t kMaxFrames = 128;

  std::uintptr_t pcs[kMaxFrames]; // innermost first, beginning within captureNative
  std::size_t count = 0;
};

void captureNative(NativeStack &stack);

// Only the fast way; false, with the frames that it got, where it had to stop.
bool unwindFast(NativeStack &stack);

// Only the system's way.
void unwindSlowly(NativeStack &stack);

} // namespace devsan::runtime
