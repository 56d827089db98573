#include "core/finding/step_times.h"

#include <algorithm>

namespace devsan::core {
namespace {

constexpr std::size_t kOfProcess = 1000;
constexpr std::size_t kOfAll = 1 << 16;

void joinColumns(std::vector<StepColumn> &columns, std::size_t most) {
  const std::size_t each = (columns.size() + most - 1) / most;
  if (each < 2)
    return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < columns.size(); i += each) {
    StepColumn joined = columns[i];
    const auto end =
        columns.begin() + static_cast<std::ptrdiff_t>(std::min(i + each, columns.size()));
    const auto longest = std::max_element(
        columns.begin() + static_cast<std::ptrdiff_t>(i), end,
        [](const StepColumn &a, const StepColumn &b) { return a.longest_ns < b.longest_ns; });
    joined.longest_ns = longest->longest_ns;
    joined.longest = longest->longest;
    columns[kept++] = joined;
  }
  columns.resize(kept);
  columns.shrink_to_fit();
}

} // namespace

void limitColumns(StepTimes &times) {
  joinColumns(times.columns, kOfProcess);
}

void limitColumns(std::vector<StepTimes> &all) {
  std::size_t columns = 0;
  for (const StepTimes &times : all)
    columns += times.columns.size();
  if (columns > kOfAll)
    for (StepTimes &times : all)
      joinColumns(times.columns, std::max<std::size_t>(kOfAll / all.size(), 1));
}

} // namespace devsan::core
