#include "events.h"

#include <chrono>

#include "capturing.h"

namespace devsan::sim {

void Event::record(c10::Stream stream) {
  VectorClock seen;
  std::uint64_t capture = 0;
  if (isOrderKept()) {
    StreamOrder order;
    const StreamState &state = order.of(stream);
    seen = state.clock;
    capture = state.capture;
  }
  device_.store(stream.device_index(), std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  seen_ = std::move(seen);
  capture_ = capture;
  recorded_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count();
}

void Event::block(c10::Stream stream) const {
  if (!isOrderKept())
    return;
  VectorClock clock;
  std::uint64_t capture = 0;
  {
    std::lock_guard lock(mutex_);
    clock = seen_;
    capture = capture_;
  }
  StreamOrder order;
  StreamState &state = order.of(stream);
  join(state.clock, clock);
  order.joinCapture(state, capture);
}

bool Event::isCaptured() const {
  std::lock_guard lock(mutex_);
  return capture_ != 0 && capture_ == detail::capture.load(std::memory_order_relaxed);
}

VectorClock Event::seen() const {
  std::lock_guard lock(mutex_);
  return seen_;
}

std::int64_t Event::recordedNs() const {
  std::lock_guard lock(mutex_);
  return recorded_ns_;
}

// One event may be both.
double Event::millisecondsUntil(const Event &end) const {
  return static_cast<double>(end.recordedNs() - recordedNs()) / 1e6;
}

} // namespace devsan::sim
