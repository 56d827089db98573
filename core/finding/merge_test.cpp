#include "core/finding/merge.h"

#include <gmock/gmock.h>

namespace devsan::core {
namespace {

using testing::ElementsAre;

Finding seenBy(std::optional<int> rank, std::string from, std::uint64_t count,
               bool worker = false) {
  Finding finding;
  finding.rule = "device-host-sync";
  finding.origin = Origin::kRuntime;
  finding.locations = {{"train.py", 7, 0, "step"}};
  finding.message = "the host waited for " + from;
  finding.from = std::move(from);
  finding.op = "aten::item";
  finding.count = count;
  finding.rank = rank;
  finding.ranks = {{rank, worker, 1, count, 0, 0}};
  return finding;
}

Finding merged(std::vector<Finding> findings) {
  Merger merger;
  for (Finding &finding : findings)
    merger.add({std::move(finding)});
  std::vector<Finding> all = merger.take();
  EXPECT_EQ(all.size(), 1u);
  return all.front();
}

TEST(Merge, OneFindingOfSeveralRanks) {
  const Finding finding = merged({seenBy(0, "cuda:0", 3), seenBy(1, "cuda:1", 4)});
  EXPECT_EQ(finding.count, 7u);
  EXPECT_EQ(finding.message, "the host waited for cuda:0");
  EXPECT_EQ(finding.rank, 0);
  EXPECT_THAT(finding.ranks,
              ElementsAre(RankShare{0, false, 1, 3, 0, 0}, RankShare{1, false, 1, 4, 0, 0}));
}

TEST(Merge, KeepsTheStepsOfEachProcess) {
  Finding a = seenBy(0, "cuda:0", 3), b = seenBy(1, "cuda:1", 4), again = a;
  a.loads = {{7, 0, 4, 1}};
  b.loads = {{5, 2, 9, 2}};
  again.loads = {{7, 3, 8, 1}};
  EXPECT_THAT(merged({a, b, again}).loads, ElementsAre(StepLoad{5, 2, 9, 2}, StepLoad{7, 0, 8, 2}));
}

TEST(Merge, TheWorseOneDescribesBoth) {
  Finding worse = seenBy(1, "cuda:1", 4);
  worse.severity = Severity::kError;
  const Finding finding = merged({seenBy(0, "cuda:0", 3), worse});
  EXPECT_EQ(finding.severity, Severity::kError);
  EXPECT_EQ(finding.message, "the host waited for cuda:1");
  EXPECT_EQ(finding.rank, 1);
}

TEST(Merge, KeepsApartWhatOneProcessKeepsApart) {
  Merger merger;
  merger.add({seenBy(0, "cuda:0", 1), seenBy(0, "cuda:1", 2)});
  merger.add({seenBy(1, "cuda:3", 4), seenBy(1, "cuda:2", 3)});
  const std::vector<Finding> findings = merger.take();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].count, 4u);
  EXPECT_EQ(findings[1].count, 6u);
}

TEST(Merge, OtherPlacesOperatorsAndDirectionsAreOtherFindings) {
  Finding place = seenBy(1, "cuda:1", 1), op = place, direction = place;
  place.locations[0].line = 8;
  op.op = "aten::nonzero";
  direction.from = "cpu";
  Merger merger;
  merger.add({seenBy(0, "cuda:0", 1)});
  for (const Finding &finding : {place, op, direction})
    merger.add({finding});
  EXPECT_EQ(merger.take().size(), 4u);
}

TEST(Merge, WhatWasPredictedAtTheAssignmentAndObservedAtTheUseIsOne) {
  Finding observed = seenBy(0, "cuda:0", 3);
  observed.related = {{{"model.py", 3, 0, "__init__"}, "made here"}};
  Finding predicted = seenBy(std::nullopt, "", 1);
  predicted.origin = Origin::kStatic;
  predicted.ranks.clear();
  predicted.fingerprint = "b";
  predicted.locations = {{"model.py", 3, 5, "__init__"}};
  predicted.fix = {{"model.py", 1, 0, "x"}};
  const Finding finding = merged({predicted, observed});
  EXPECT_EQ(finding.origin, Origin::kRuntime);
  EXPECT_EQ(finding.related[0].message, "made here; devsan check predicts it here");
  EXPECT_EQ(finding.fix.size(), 1u);
  ASSERT_EQ(finding.predicted.size(), 1u);
  EXPECT_EQ(finding.predicted[0].fingerprint, "b");
  predicted.locations[0].line = 4;
  Merger merger;
  merger.add({predicted});
  merger.add({observed});
  EXPECT_EQ(merger.take().size(), 2u);
}

TEST(Merge, AnalyzersFindingIsNoSecondOneInAnotherReport) {
  Finding finding = seenBy(std::nullopt, "", 1);
  finding.origin = Origin::kStatic;
  finding.ranks.clear();
  EXPECT_EQ(merged({finding, finding}).count, 1u);
}

TEST(WhereSeen, SaysWhichRanks) {
  const std::vector<int> ranks{0, 1, 2, 3, 4, 5, 6, 7};
  const auto seen = [&](std::vector<int> some) {
    Finding finding;
    for (int rank : some)
      finding.ranks.push_back({rank, false, 1, 1, 0, 0});
    return whereSeen(finding, ranks);
  };
  EXPECT_EQ(seen(ranks), "on all 8 ranks");
  EXPECT_EQ(seen({1, 2, 3, 4, 5, 6, 7}), "on ranks 1–7 only");
  EXPECT_EQ(seen({0, 3, 4}), "on ranks 0, 3, 4 only");
  EXPECT_EQ(seen({5}), "on rank 5 only");
}

TEST(WhereSeen, TellsWorkersFromRanks) {
  Finding finding;
  finding.ranks = {{0, true, 4, 8, 0, 0}, {1, true, 4, 8, 0, 0}};
  EXPECT_EQ(whereSeen(finding, std::vector{0, 1}), "in 8 worker processes of both ranks");
  finding.ranks.insert(finding.ranks.begin(), {0, false, 1, 2, 0, 0});
  EXPECT_EQ(whereSeen(finding, std::vector{0, 1}),
            "on rank 0 only and in 8 worker processes of both ranks");
  finding.ranks = {{std::nullopt, true, 2, 4, 0, 0}};
  EXPECT_EQ(whereSeen(finding, {}), "in 2 worker processes");
  finding.ranks = {{std::nullopt, false, 1, 4, 0, 0}};
  EXPECT_EQ(whereSeen(finding, {}), "");
}

TEST(Merge, KeepsTheStacksOfTheFirstTenThousandWhole) {
  Merger merger;
  std::vector<Finding> findings;
  for (unsigned line = 1; line <= 10'001; ++line) {
    findings.push_back(seenBy(0, "cuda:0", 1));
    findings.back().locations[0].line = line;
    findings.back().stack = {{{"", 0, 0, "at::item"}, "libtorch_cpu.so", false},
                             {{"train.py", line, 0, "step"}, "", true}};
  }
  merger.add(std::move(findings));
  findings = merger.take();
  EXPECT_EQ(findings.front().stack.size(), 2u);
  ASSERT_EQ(findings.back().stack.size(), 1u);
  EXPECT_TRUE(findings.back().stack[0].user);
}

} // namespace
} // namespace devsan::core
