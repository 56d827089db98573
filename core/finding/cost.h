// What a finding costs, and the order that follows from it: the top of a report is what to fix
// first.
#pragma once

#include "core/finding/finding.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace devsan::core {

// Where nothing was measured, a wait is taken to cost the launch and the wake-up of the host, and a
// copy its bytes over a host link; real links lie within a factor of four of it. Reports name both.
inline constexpr std::uint64_t kAssumedWaitNs = 10'000;
inline constexpr std::uint64_t kAssumedBytesPerSecond = 12'000'000'000;

// What is known about the time of a run.
struct CostBasis {
  bool simulated = false;    // the devices take the host's time: blocked times say nothing
  std::uint64_t wall_ns = 0; // of the run; 0 where unknown
  std::uint64_t steps = 0;   // of the process that made most; 0 where the program names none

  bool operator==(const CostBasis &) const = default;
};

// What removing a finding saves, in the process that it costs most: ranks wait for the slowest.
// Nothing where the finding is a matter of right and wrong alone.
struct Cost {
  std::uint64_t saves_ns = 0;
  bool measured = false; // time that the host was blocked; else estimated from count and bytes
  std::optional<double> share;              // of the run's wall time, where measured
  std::optional<std::uint64_t> per_step_ns; // where the program has steps
};

std::optional<Cost> costOf(const Finding &finding, const CostBasis &basis);

// Reports' order: what own code causes, severity, then what removing it saves, count, bytes, and
// place.
void rankByCost(std::vector<Finding> &findings, const CostBasis &basis);

// The order in which what is otherwise the same is told apart, the same in every run: findings come
// in the order of their first events, which threads race for.
void sortByContent(std::vector<Finding> &findings);

} // namespace devsan::core
