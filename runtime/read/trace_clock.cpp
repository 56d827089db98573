#include "runtime/read/trace_clock.h"

#include <algorithm>

namespace devsan::runtime {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kWindow = 7'889'238 * kSecond;
// Readings of both clocks differ by less than this where neither was set.
constexpr std::uint64_t kTolerance = 100'000;

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return std::min(a - b, b - a);
}

} // namespace

std::uint64_t traceBase(std::uint64_t real_ns) {
  return real_ns / kWindow * kWindow;
}

TraceClock::TraceClock(std::span<const ClockRecord> readings, std::uint64_t first_event_ns,
                       std::uint64_t start_ns) {
  if (readings.empty())
    offsets_.push_back({0, start_ns - first_event_ns});
  for (const ClockRecord &reading : readings) {
    const std::uint64_t added = reading.real_ns - reading.monotonic_ns;
    if (offsets_.empty() || distance(added, offsets_.back().added) > kTolerance)
      offsets_.push_back({reading.monotonic_ns, added});
  }
  std::ranges::sort(offsets_, {}, &Offset::since);
}

std::uint64_t TraceClock::real(std::uint64_t monotonic_ns) const {
  const auto next = std::ranges::upper_bound(offsets_, monotonic_ns, {}, &Offset::since);
  return monotonic_ns + (next == offsets_.begin() ? next : next - 1)->added;
}

} // namespace devsan::runtime
