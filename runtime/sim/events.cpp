#include "events.h"

#include <chrono>

namespace devsan::sim {

void recordEvent(Event &event) {
  event.recorded_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::steady_clock::now().time_since_epoch())
                          .count();
}

double elapsedMilliseconds(const Event &start, const Event &end) {
  return static_cast<double>(end.recorded_ns - start.recorded_ns) / 1e6;
}

} // namespace devsan::sim
