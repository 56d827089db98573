#include "core/finding/cost.h"

#include <gmock/gmock.h>

namespace devsan::core {
namespace {

Finding wait(std::uint64_t count, std::uint64_t blocked_ns) {
  Finding finding;
  finding.rule = "device-host-sync";
  finding.origin = Origin::kRuntime;
  finding.from = "cuda:0";
  finding.count = count;
  finding.blocked_ns = blocked_ns;
  finding.ranks = {{std::nullopt, false, 1, count, 0, blocked_ns}};
  return finding;
}

Finding copy(std::uint64_t bytes) {
  Finding finding;
  finding.rule = "device-implicit-transfer";
  finding.origin = Origin::kRuntime;
  finding.from = "cpu";
  finding.to = "cuda:0";
  finding.bytes = bytes;
  finding.ranks = {{std::nullopt, false, 1, 1, bytes, 0}};
  return finding;
}

std::vector<std::string> order(std::vector<Finding> findings, const CostBasis &basis) {
  for (std::size_t i = 0; i < findings.size(); ++i)
    findings[i].fingerprint = std::string(1, static_cast<char>('a' + i));
  rankByCost(findings, basis);
  std::vector<std::string> names;
  for (const Finding &finding : findings)
    names.push_back(finding.fingerprint);
  return names;
}

TEST(Cost, IsTheTimeThatTheHostWasBlocked) {
  const Cost cost = costOf(wait(10, 2'000'000), {false, 8'000'000, 4}).value();
  EXPECT_TRUE(cost.measured);
  EXPECT_EQ(cost.saves_ns, 2'000'000u);
  EXPECT_DOUBLE_EQ(cost.share.value(), 0.25);
  EXPECT_EQ(cost.per_step_ns, 500'000u);
}

TEST(Cost, RanksWaitForTheSlowest) {
  Finding finding = wait(30, 9000);
  finding.ranks = {{0, false, 1, 10, 0, 1000}, {1, false, 1, 20, 0, 8000}};
  EXPECT_EQ(costOf(finding, {})->saves_ns, 8000u);
}

TEST(Cost, IsEstimatedOnSimulatedDevices) {
  const Cost cost = costOf(wait(10, 2'000'000), {true, 8'000'000, 0}).value();
  EXPECT_FALSE(cost.measured);
  EXPECT_EQ(cost.saves_ns, 10 * kAssumedWaitNs);
  EXPECT_FALSE(cost.share);
  EXPECT_FALSE(cost.per_step_ns);
  EXPECT_EQ(costOf(copy(kAssumedBytesPerSecond), {true})->saves_ns, 1'000'000'000u);
}

TEST(Cost, ACopyThatWaitsCostsTheWaitToo) {
  Finding finding = copy(12);
  finding.waits = true;
  EXPECT_EQ(costOf(finding, {true})->saves_ns, kAssumedWaitNs + 1);
}

TEST(Cost, AnErrorIsNoMatterOfTime) {
  Finding finding = copy(100);
  finding.rule = "device-stream-race";
  EXPECT_FALSE(costOf(finding, {}));
  finding.rule = "device-host-sync";
  finding.origin = Origin::kStatic;
  EXPECT_FALSE(costOf(finding, {}));
}

TEST(Ranking, GoesBySeverityThenByWhatItSaves) {
  Finding error = wait(1, 1);
  error.severity = Severity::kError;
  EXPECT_THAT(order({wait(100, 10), wait(1, 5000), error}, {}),
              testing::ElementsAre("c", "b", "a"));
}

TEST(Ranking, IgnoresTheTimesOfSimulatedDevices) {
  EXPECT_THAT(order({wait(1, 5000), wait(100, 10)}, {true}), testing::ElementsAre("b", "a"));
}

TEST(Ranking, IsTheSameWhateverTheOrderBefore) {
  std::vector<Finding> findings;
  for (unsigned line : {3, 1, 2}) {
    findings.push_back(wait(1, 0));
    findings.back().locations = {{"a.py", line, 0, ""}};
  }
  rankByCost(findings, {});
  EXPECT_EQ(findings[0].locations[0].line, 1u);
  EXPECT_EQ(findings[2].locations[0].line, 3u);
}

} // namespace
} // namespace devsan::core
