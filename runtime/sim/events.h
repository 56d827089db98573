// Events and streams as the program sees them. Work on a simulated device is done when the call
// that starts it returns, so a stream is always idle and a recorded event has always happened; what
// remains is their identity and their times.
#pragma once

#include <cstdint>

namespace devsan::sim {

struct Event {
  std::int64_t recorded_ns = -1; // CLOCK_MONOTONIC; -1 before the first record
};

void recordEvent(Event &event);
// Milliseconds, as cudaEventElapsedTime.
double elapsedMilliseconds(const Event &start, const Event &end);

} // namespace devsan::sim
