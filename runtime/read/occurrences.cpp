#include "runtime/read/occurrences.h"

#include <algorithm>
#include <map>
#include <optional>

namespace devsan::runtime {
namespace {

struct InStep {
  std::uint32_t step = 0;
  std::uint64_t count = 0;
};

// Beyond it nothing is counted step by step: no log may cost more memory than this.
constexpr std::uint64_t kMaxCountedSteps = 1 << 22;

// Nothing where the steps of a part are not known.
std::optional<std::vector<InStep>> stepsOf(std::span<const Occurrences> parts) {
  std::uint64_t size = 0;
  for (const Occurrences &part : parts) {
    size += part.steps;
    if ((part.count && part.runs.empty()) || size > kMaxCountedSteps)
      return std::nullopt;
  }
  std::vector<InStep> steps;
  steps.reserve(size);
  for (const Occurrences &part : parts)
    for (const StepRun &run : part.runs)
      for (std::uint32_t i = 0; i < run.steps; ++i)
        steps.push_back({run.first + i * run.stride, run.each});
  return steps;
}

// Each step once, in their order.
std::vector<InStep> combined(std::vector<InStep> steps) {
  std::ranges::sort(steps, {}, &InStep::step);
  std::vector<InStep> all;
  for (const InStep &one : steps) {
    if (all.empty() || all.back().step != one.step)
      all.push_back({one.step, 0});
    all.back().count += one.count;
  }
  return all;
}

void setSteps(Occurrences &all, const std::vector<InStep> &steps) {
  all.first_step = steps.front().step;
  all.last_step = steps.back().step;
  all.steps = static_cast<std::uint32_t>(steps.size());
  all.most_in_step = std::ranges::max_element(steps, {}, &InStep::count)->count;
  all.runs.clear();
  for (const InStep &one : steps) {
    if (one.count > UINT32_MAX) {
      all.runs.clear();
      return;
    }
    const auto each = static_cast<std::uint32_t>(one.count);
    if (all.runs.empty() || !extend(all.runs.back(), one.step, each))
      all.runs.push_back({one.step, 0, 1, each});
  }
}

Occurrences bounded(const Occurrences &a, const Occurrences &b) {
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

// No step has more than the parts that cover it.
std::uint64_t mostInStep(std::span<const Occurrences> parts) {
  std::map<std::uint32_t, std::uint64_t> rises, falls; // by the first step, and by the last
  for (const Occurrences &part : parts) {
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
  return most;
}

} // namespace

Occurrences Occurrences::of(const Event &event) {
  return {1, event.bytes, event.blocked_ns,       event.bytes, event.step, event.step,
          1, 1,           {{event.step, 0, 1, 1}}};
}

Occurrences together(std::span<const Occurrences> parts) {
  Occurrences sum;
  for (const Occurrences &part : parts)
    sum = bounded(sum, part);
  if (std::ranges::count_if(parts, [](const Occurrences &part) { return part.count != 0; }) < 2)
    return sum;
  sum.runs.clear();
  if (const auto steps = stepsOf(parts))
    setSteps(sum, combined(*steps));
  else
    sum.most_in_step = std::min(sum.most_in_step, mostInStep(parts));
  return sum;
}

Occurrences renumbered(Occurrences all,
                       const std::function<std::uint32_t(std::uint32_t)> &numberOf) {
  if (auto steps = stepsOf({&all, 1}); steps && !steps->empty()) {
    for (InStep &one : *steps)
      one.step = numberOf(one.step);
    setSteps(all, combined(std::move(*steps)));
    return all;
  }
  all.runs.clear();
  all.first_step = numberOf(all.first_step);
  all.last_step = numberOf(all.last_step);
  all.steps = std::min(all.steps, all.last_step - all.first_step + 1);
  return all;
}

} // namespace devsan::runtime
