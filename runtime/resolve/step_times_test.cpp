#include "runtime/read/testing/log_builder.h"
#include "runtime/resolve/step_times.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

using core::StepColumn;
using testing::LogBuilder;

constexpr std::uint64_t kMillisecond = 1'000'000;

Event endOf(std::uint32_t step, std::uint64_t time_ns, std::uint32_t flags = 0) {
  Event event;
  event.kind = EventKind::kStep;
  event.step = step;
  event.time_ns = time_ns;
  event.flags = flags;
  return event;
}

Event wait(std::uint64_t time_ns, std::uint64_t call_ns) {
  Event event;
  event.kind = EventKind::kBlock;
  event.time_ns = time_ns;
  event.call_ns = call_ns;
  return event;
}

core::StepTimes timesOf(const LogBuilder &builder) {
  const ProcessLog log = parseLog(builder.bytes(), "a.devsanlog").value();
  Recording recording{SourcePaths({})};
  recording.add(log, builder.symbols());
  return stepTimesOf(log, recording.stepNumbers());
}

TEST(StepTimes, StepsLastFromEndToEndTheFirstFromTheFirstWait) {
  LogBuilder log;
  log.add(wait(1200, 200));
  log.add(endOf(0, 1500)).add(endOf(1, 1700)).add(endOf(2, 2700));
  const core::StepTimes times = timesOf(log);
  EXPECT_EQ(times.columns,
            (std::vector<StepColumn>{{0, 0, 500, 0}, {1, 500, 200, 1}, {2, 700, 1000, 2}}));
  EXPECT_EQ(times.end_ns, 1700u);
  EXPECT_EQ(times.steps, 3u);
}

TEST(StepTimes, WithoutStepsThereAreNone) {
  LogBuilder log;
  log.add(wait(1200, 200));
  EXPECT_TRUE(timesOf(log).columns.empty());
}

TEST(StepTimes, BeginAtTheTimeOfDay) {
  LogBuilder log;
  log.add(wait(5 * kMillisecond, kMillisecond));
  log.add(endOf(0, 6 * kMillisecond));
  const ClockRecord clocks{kMillisecond, 1000 * kMillisecond};
  const auto *bytes = reinterpret_cast<const std::byte *>(&clocks);
  log.record(RecordKind::kClock, {bytes, bytes + sizeof clocks});
  EXPECT_EQ(timesOf(log).begun_us, 1'003'000u);
}

TEST(StepTimes, OneSlowStepOfAHundredThousandIsSeen) {
  constexpr std::uint32_t kSteps = 100'000, kSlow = 43'210;
  LogBuilder log;
  log.add(wait(0, 0));
  std::uint64_t now = 0;
  for (std::uint32_t step = 0; step < kSteps; ++step)
    log.add(endOf(step, now += (step == kSlow ? 300 : 1) * kMillisecond));
  const core::StepTimes times = timesOf(log);
  EXPECT_EQ(times.steps, kSteps);
  EXPECT_EQ(times.columns.size(), 1000u);
  const auto longest = std::ranges::max_element(times.columns, {}, &StepColumn::longest_ns);
  EXPECT_EQ(longest->longest, kSlow);
  EXPECT_EQ(longest->longest_ns, 300 * kMillisecond);
  EXPECT_EQ(times.end_ns, (kSteps + 299) * kMillisecond);
}

// Where the log has no room for them any more, or a writer died.
TEST(StepTimes, EndsThatAreMissingAreCountedWithTheNext) {
  LogBuilder log;
  log.add(wait(0, 0));
  log.add(endOf(0, 100)).add(endOf(4, 500));
  const core::StepTimes times = timesOf(log);
  EXPECT_EQ(times.columns, (std::vector<StepColumn>{{0, 0, 100, 0}, {1, 100, 100, 4}}));
  EXPECT_EQ(times.steps, 5u);
}

TEST(StepTimes, StepsAreThoseOfTheProgramWhereItSaysThem) {
  LogBuilder log;
  log.add(wait(0, 0));
  log.add(endOf(0, 100, kRecognizedStep)).add(endOf(1, 200)).add(endOf(2, 350));
  const core::StepTimes times = timesOf(log);
  EXPECT_EQ(times.columns, (std::vector<StepColumn>{{0, 0, 200, 0}, {1, 200, 150, 1}}));
}

} // namespace
} // namespace devsan::runtime
