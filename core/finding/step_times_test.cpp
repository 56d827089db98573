#include "core/finding/step_times.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace devsan::core {
namespace {

StepTimes withColumns(std::uint64_t count) {
  StepTimes times;
  for (std::uint64_t i = 0; i < count; ++i)
    times.columns.push_back({i, 10 * i, 10, i});
  times.steps = count;
  times.end_ns = 10 * count;
  return times;
}

TEST(StepTimes, AFewColumnsStayAsTheyAre) {
  StepTimes times = withColumns(1000);
  limitColumns(times);
  EXPECT_EQ(times, withColumns(1000));
}

TEST(StepTimes, JoinedColumnsKeepTheLongestStep) {
  StepTimes times = withColumns(2500);
  times.columns[1201].longest_ns = 99;
  limitColumns(times);
  ASSERT_EQ(times.columns.size(), 834u);
  EXPECT_EQ(times.columns[0], (StepColumn{0, 0, 10, 0}));
  EXPECT_EQ(times.columns[400], (StepColumn{1200, 12'000, 99, 1201}));
  EXPECT_EQ(times.columns[833], (StepColumn{2499, 24'990, 10, 2499}));
}

TEST(StepTimes, AReportHoldsAProcessEachHoweverManyThereAre) {
  std::vector<StepTimes> all(1000, withColumns(1000));
  all[77].columns[500].longest_ns = 99;
  limitColumns(all);
  std::size_t columns = 0;
  for (const StepTimes &times : all) {
    EXPECT_FALSE(times.columns.empty());
    columns += times.columns.size();
  }
  EXPECT_LE(columns, 1u << 16);
  EXPECT_EQ(std::ranges::max_element(all[77].columns, {}, &StepColumn::longest_ns)->longest, 500u);
}

} // namespace
} // namespace devsan::core
