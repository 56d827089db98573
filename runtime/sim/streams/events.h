// Events as the program sees them: when they were recorded, and what their stream had been given by
// then. An event has happened once every copy before it has arrived (see pending_copies.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <c10/core/Event.h>

#include "pending_copies.h"
#include "streams.h"

namespace devsan::sim {

// Any thread.
class Event {
public:
  void record(c10::Stream stream);
  // What is issued on `stream` from now on comes after what the event saw.
  void block(c10::Stream stream) const;
  // Does not count as a query of the program's.
  bool hasHappened() const { return !isOrderKept() || haveCopiesArrived(seen()); }
  bool query() const { return !isOrderKept() || queryClock(seen()); }
  void synchronize() const {
    if (isOrderKept())
      synchronizeClock(seen());
  }
  // Whether it stands for work of a CUDA graph that is being captured.
  bool isCaptured() const;
  // Of the stream that it was last recorded on.
  c10::DeviceIndex device() const { return device_.load(std::memory_order_relaxed); }
  // As cudaEventElapsedTime; both have been recorded.
  double millisecondsUntil(const Event &end) const;

private:
  VectorClock seen() const;
  std::int64_t recordedNs() const;

  std::atomic<c10::DeviceIndex> device_{-1};
  mutable std::mutex mutex_;
  std::int64_t recorded_ns_ = 0; // CLOCK_MONOTONIC
  VectorClock seen_;
  std::uint64_t capture_ = 0; // the stream was part of it then
};

// Of an event of a simulated device.
inline bool hasHappened(const c10::Event &event) {
  return event.eventId() == nullptr || static_cast<Event *>(event.eventId())->hasHappened();
}

} // namespace devsan::sim
