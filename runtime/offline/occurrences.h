// How often something was observed, and in which steps. A recording keeps equal events together
// (all that differ only in time, bytes, blocked time, step and group), however often they came;
// detectors count with this and never with the number of events. Offline only, plain values.
#pragma once

#include "runtime/event.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>

namespace devsan::runtime {

struct Occurrences {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0; // of all of them
  std::uint64_t blocked_ns = 0;
  std::uint64_t largest = 0; // bytes of one
  std::uint32_t first_step = 0;
  std::uint32_t last_step = 0;
  std::uint32_t steps = 0;        // distinct steps in which it happened
  std::uint64_t most_in_step = 0; // in one step

  bool sameSize() const { return bytes == count * largest; }
  bool operator==(const Occurrences &) const = default;

  static Occurrences of(const Event &event) {
    return {1, event.bytes, event.blocked_ns, event.bytes, event.step, event.step, 1, 1};
  }
};

// Both together, for what is told apart elsewhere and reported as one. Sums are exact. Which steps
// the two have in common is known only where they lie in different ones, or both in a single one:
// else `steps` is the least and `most_in_step` the most that it can be.
inline Occurrences together(const Occurrences &a, const Occurrences &b) {
  if (a.count == 0 || b.count == 0)
    return a.count ? a : b;
  Occurrences sum;
  sum.count = a.count + b.count;
  sum.bytes = a.bytes + b.bytes;
  sum.blocked_ns = a.blocked_ns + b.blocked_ns;
  sum.largest = std::max(a.largest, b.largest);
  sum.first_step = std::min(a.first_step, b.first_step);
  sum.last_step = std::max(a.last_step, b.last_step);
  const bool apart = a.last_step < b.first_step || b.last_step < a.first_step;
  const bool touch = a.last_step == b.first_step || b.last_step == a.first_step;
  sum.steps = apart   ? a.steps + b.steps
              : touch ? a.steps + b.steps - 1
                      : std::max(a.steps, b.steps);
  sum.most_in_step =
      apart ? std::max(a.most_in_step, b.most_in_step) : a.most_in_step + b.most_in_step;
  return sum;
}

// All of them together. A line of Python has another stack once the interpreter has specialised it,
// so what pairs would add up is told apart here: no step has more than the parts that cover it.
inline Occurrences together(std::span<const Occurrences> parts) {
  Occurrences sum;
  std::map<std::uint32_t, std::uint64_t> rises, falls; // by the first step, and by the last
  for (const Occurrences &part : parts) {
    sum = together(sum, part);
    if (part.count == 0)
      continue;
    rises[part.first_step] += part.most_in_step;
    falls[part.last_step] += part.most_in_step;
  }
  std::uint64_t here = 0, most = 0;
  auto fall = falls.begin();
  for (const auto &[step, rise] : rises) {
    for (; fall != falls.end() && fall->first < step; ++fall)
      here -= fall->second;
    here += rise;
    most = std::max(most, here);
  }
  sum.most_in_step = std::min(sum.most_in_step, most);
  return sum;
}

} // namespace devsan::runtime
