// The capture of a CUDA graph: one at a time in the process, on the stream where it began and on
// those that join it by waiting for its events. Nothing runs on them meanwhile. Begun and ended by
// graphs/graph.cpp, asked by the device guard and by whatever issues work; any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include <c10/core/Stream.h>

namespace devsan::sim {

namespace detail {
inline std::atomic<std::uint64_t> capture{0}; // the number of the capture that runs; 0: none
inline std::atomic<std::uint64_t> mempool{0};
} // namespace detail

void beginCapture(c10::Stream stream);
void endCapture();
bool isInCapture(c10::Stream stream);

inline bool isAnythingCaptured() {
  return C10_UNLIKELY(detail::capture.load(std::memory_order_relaxed) != 0);
}

inline bool isCapturing(c10::Stream stream) {
  return isAnythingCaptured() && isInCapture(stream);
}

// The captures that begin from now on take memory from `mempool`.
inline void captureInto(std::uint64_t mempool) {
  detail::mempool.store(mempool, std::memory_order_relaxed);
}

// Where the stream's memory comes from: 0 outside a capture.
inline std::uint64_t mempoolFor(c10::Stream stream) {
  return isCapturing(stream) ? detail::mempool.load(std::memory_order_relaxed) : 0;
}

} // namespace devsan::sim
