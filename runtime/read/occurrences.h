// How often something was observed, and in which steps. A recording keeps equal events together
// (all that differ only in time, bytes, blocked time, step and group), however often they came;
// detectors count with this and never with the number of events. Offline only, plain values.
#pragma once

#include "runtime/protocol/event.h"
#include "runtime/protocol/step_run.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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
  // How often in which steps, in their order. Empty where the log does not tell.
  std::vector<StepRun> runs;

  bool sameSize() const { return bytes == count * largest; }
  bool operator==(const Occurrences &) const = default;

  static Occurrences of(const Event &event);
};

// All of them together, for what is told apart elsewhere and reported as one: a line has another
// native stack in each thread, once the interpreter has specialised it, and while a profiler
// observes LibTorch's dispatcher. Exact where the log tells the steps of each part. Where it does
// not, and the parts lie neither in different steps nor all in a single one, `steps` is the least
// and `most_in_step` the most that it can be.
Occurrences together(std::span<const Occurrences> parts);

// The same with other numbers for the steps, which may fall together but not change their order.
Occurrences renumbered(Occurrences all,
                       const std::function<std::uint32_t(std::uint32_t)> &numberOf);

} // namespace devsan::runtime
