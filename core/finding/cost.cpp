#include "core/finding/cost.h"
#include "core/finding/rule_table.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace devsan::core {
namespace {

// The share of one process, of the rank that it costs most.
RankShare worstProcess(const Finding &finding) {
  RankShare worst;
  for (const RankShare &share : finding.ranks) {
    const std::uint64_t processes = std::max<std::uint64_t>(share.processes, 1);
    worst.count = std::max(worst.count, share.count / processes);
    worst.bytes = std::max(worst.bytes, share.bytes / processes);
    worst.blocked_ns = std::max(worst.blocked_ns, share.blocked_ns / processes);
  }
  if (finding.ranks.empty())
    worst = {std::nullopt, false, 1, finding.count, finding.bytes, finding.blocked_ns};
  return worst;
}

bool isCopy(const Finding &finding) {
  return finding.bytes && !finding.from.empty() && !finding.to.empty() &&
         finding.from != finding.to;
}

bool isWait(const Finding &finding) {
  return finding.waits || finding.blocked_ns ||
         finding.rule == "device-host-sync"; // in reports that say no more
}

// An error is a wrong result or a crash, whatever time it takes.
bool isAboutTime(const Finding &finding) {
  const Rule *rule = findRule(finding.rule);
  return finding.origin == Origin::kRuntime && (!rule || rule->severity < Severity::kError) &&
         (isCopy(finding) || isWait(finding));
}

std::uint64_t transferNs(std::uint64_t bytes) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 /
                                    static_cast<double>(kAssumedBytesPerSecond));
}

Location placeOf(const Finding &finding) {
  return finding.locations.empty() ? Location{} : finding.locations.front();
}

template <typename Key> void reorder(std::vector<Finding> &findings, const std::vector<Key> &keys) {
  std::vector<std::size_t> order(findings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](const std::size_t &i) { return std::tie(keys[i], i); });
  std::vector<Finding> sorted;
  sorted.reserve(findings.size());
  for (const std::size_t i : order)
    sorted.push_back(std::move(findings[i]));
  findings = std::move(sorted);
}

} // namespace

std::optional<Cost> costOf(const Finding &finding, const CostBasis &basis) {
  if (!isAboutTime(finding))
    return std::nullopt;
  const RankShare process = worstProcess(finding);
  Cost cost;
  cost.measured = !basis.simulated && process.blocked_ns > 0;
  if (cost.measured) {
    cost.saves_ns = process.blocked_ns;
    // Threads wait side by side.
    if (basis.wall_ns)
      cost.share = std::min(1.0, static_cast<double>(process.blocked_ns) /
                                     static_cast<double>(basis.wall_ns));
  } else {
    cost.saves_ns = (isCopy(finding) ? transferNs(process.bytes) : 0) +
                    (isWait(finding) ? process.count * kAssumedWaitNs : 0);
  }
  if (basis.steps)
    cost.per_step_ns = cost.saves_ns / basis.steps;
  return cost;
}

void rankByCost(std::vector<Finding> &findings, const CostBasis &basis) {
  using Descending = std::tuple<bool, int, std::uint64_t, std::uint64_t, std::uint64_t>;
  using Key = std::tuple<Descending, std::string, std::string, unsigned, unsigned, std::string>;
  const auto negated = [](std::uint64_t value) { return ~value; };
  std::vector<Key> keys;
  for (const Finding &finding : findings) {
    const std::optional<Cost> cost = costOf(finding, basis);
    Location place = placeOf(finding);
    keys.emplace_back(Descending{!finding.library.empty(), -static_cast<int>(finding.severity),
                                 negated(cost ? cost->saves_ns : 0), negated(finding.count),
                                 negated(finding.bytes)},
                      finding.rule, std::move(place.file), place.line, place.column,
                      finding.fingerprint);
  }
  reorder(findings, keys);
}

void sortByContent(std::vector<Finding> &findings) {
  using Key = std::tuple<std::string, std::string, unsigned, unsigned, std::string, std::string,
                         std::string, std::string>;
  std::vector<Key> keys;
  for (const Finding &finding : findings) {
    Location place = placeOf(finding);
    keys.emplace_back(finding.rule, std::move(place.file), place.line, place.column, finding.op,
                      finding.from, finding.to, finding.message);
  }
  reorder(findings, keys);
}

} // namespace devsan::core
