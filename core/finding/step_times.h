// When the steps of the programs' main loops ran, for timelines. A step lasts from the end of the
// one before to its own. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace devsan::core {

// Steps in a row as one, up to the next column.
struct StepColumn {
  std::uint64_t step = 0; // the first
  std::uint64_t begin_ns = 0;
  std::uint64_t longest_ns = 0; // of one step
  std::uint64_t longest = 0;    // that step

  bool operator==(const StepColumn &) const = default;
};

// Of one process.
struct StepTimes {
  std::optional<int> rank;
  bool worker = false;
  std::uint64_t begun_us = 0; // since 1970; `begin_ns` and `end_ns` count from it
  std::uint64_t steps = 0;    // those that ended
  std::uint64_t end_ns = 0;
  std::vector<StepColumn> columns;

  bool operator==(const StepTimes &) const = default;
};

// Joins columns where there are more than a report holds, 1,000 of a process and 65,536 of all.
void limitColumns(StepTimes &times);
void limitColumns(std::vector<StepTimes> &all);

} // namespace devsan::core
