#include "runtime/resolve/step_times.h"
#include "runtime/read/trace_clock.h"

#include <algorithm>
#include <tuple>

namespace devsan::runtime {
namespace {

struct End {
  std::uint64_t step = 0;
  std::uint64_t time_ns = 0;
};

std::vector<End> endsOf(const ProcessLog &log, const StepNumbers &numbers) {
  std::vector<End> ends;
  ends.reserve(log.step_ends.size());
  for (const StepEnd &end : log.step_ends)
    if (numbers.endsStep(log.tallies[end.tally].first.flags))
      ends.push_back({numbers.number(end.step), end.time_ns});
  std::ranges::sort(ends, [](const End &a, const End &b) {
    return std::tie(a.step, a.time_ns) < std::tie(b.step, b.time_ns);
  });
  // Two threads may end one step.
  const auto repeated = std::ranges::unique(ends, {}, &End::step);
  ends.erase(repeated.begin(), repeated.end());
  return ends;
}

std::uint64_t firstBegin(const ProcessLog &log, std::uint64_t at_most) {
  std::uint64_t first = at_most;
  for (const Tally &tally : log.tallies)
    if (tally.first.kind == EventKind::kCopy || tally.first.kind == EventKind::kBlock)
      first =
          std::min(first, tally.first.time_ns - std::min(tally.first.call_ns, tally.first.time_ns));
  return first;
}

} // namespace

core::StepTimes stepTimesOf(const ProcessLog &log, const StepNumbers &numbers) {
  core::StepTimes times;
  const std::vector<End> ends = endsOf(log, numbers);
  if (ends.empty())
    return times;
  const std::uint64_t begin = firstBegin(log, ends.front().time_ns);
  std::uint64_t step = 0, at = begin;
  for (const End &end : ends) {
    const std::uint64_t until = std::max(at, end.time_ns);
    // The log may lack the ends of some.
    const std::uint64_t each = (until - at) / (end.step + 1 - step);
    times.columns.push_back({step, at - begin, each, end.step});
    step = end.step + 1;
    at = until;
  }
  times.begun_us = TraceClock(log.clocks, begin, log.header.start_time_ns).real(begin) / 1000;
  times.steps = step;
  times.end_ns = at - begin;
  core::limitColumns(times);
  return times;
}

} // namespace devsan::runtime
