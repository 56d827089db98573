// The times of a trace. torch.profiler's count microseconds from the start of a window of three
// months, so that a double holds nanoseconds; ours count from the same moment, and both files line
// up.
#pragma once

#include "runtime/protocol/log_format.h"

#include <cstdint>
#include <span>
#include <vector>

namespace devsan::runtime {

// The start of the window, nanoseconds since 1970.
std::uint64_t traceBase(std::uint64_t real_ns);

// From CLOCK_MONOTONIC of one process to the time of day.
class TraceClock {
public:
  // Without any reading of both clocks, `first_event_ns` counts as `start_ns`.
  TraceClock(std::span<const ClockRecord> readings, std::uint64_t first_event_ns,
             std::uint64_t start_ns);

  std::uint64_t real(std::uint64_t monotonic_ns) const;

private:
  struct Offset {
    std::uint64_t since; // CLOCK_MONOTONIC
    std::uint64_t added; // modulo 2^64
  };
  std::vector<Offset> offsets_; // never empty
};

} // namespace devsan::runtime
