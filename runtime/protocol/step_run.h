// In which steps something was counted, and how often in each, kept small: training repeats itself,
// so most of it is one run however many steps there are.
#pragma once

#include <cstdint>

namespace devsan::runtime {

// `each` events in each of `steps` steps: `first`, `first` + `stride`, and so on.
struct StepRun {
  std::uint32_t first = 0;
  std::uint32_t stride = 0; // 0 as long as there is one step
  std::uint32_t steps = 0;
  std::uint32_t each = 0;

  std::uint32_t last() const { return first + stride * (steps - (steps ? 1 : 0)); }
  bool operator==(const StepRun &) const = default;
};

// A later step with so many events. False where it does not belong to the run, which stays as it
// is.
inline bool extend(StepRun &run, std::uint32_t step, std::uint32_t each) {
  if (run.steps == 0) {
    run = {step, 0, 1, each};
    return true;
  }
  const std::uint32_t stride = step - run.last();
  if (each != run.each || (run.steps > 1 && stride != run.stride))
    return false;
  run.stride = stride;
  ++run.steps;
  return true;
}

} // namespace devsan::runtime
