#include "runtime/detectors/groups.h"
#include "runtime/offline/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

using namespace testing;

// What groupByPlace says about waits in the steps given, of a program of so many.
EventGroup group(unsigned steps, std::initializer_list<unsigned> waits_in) {
  LogBuilder log;
  Event wait;
  wait.kind = EventKind::kBlock;
  wait.from = cuda(0);
  wait.stack = log.stack({op("item"), user("main", 5)});
  Event ended;
  ended.kind = EventKind::kStep;
  const auto *next = waits_in.begin();
  for (unsigned step = 0; step <= steps; ++step) {
    for (; next != waits_in.end() && *next == step; ++next) {
      wait.step = step;
      log.add(wait);
    }
    ended.step = step;
    if (step < steps)
      log.add(ended);
  }
  const Recording recording = replay(log);
  return groupByPlace(
             recording,
             [](const ResolvedEvent &event) { return event.event.kind == EventKind::kBlock; })
      .at(0);
}

TEST(Groups, ALoopIsThreeCallsWhereThereAreNoSteps) {
  EXPECT_EQ(group(0, {0}).repeats, 0u);
  EXPECT_EQ(group(0, {0, 0}).repeats, 0u);
  EXPECT_EQ(group(0, {0, 0, 0}).repeats, 3u);
}

TEST(Groups, ASummaryInFewStepsIsNoLoop) {
  EXPECT_EQ(group(100, {20, 40, 60, 80, 99}).repeats, 0u);
  EXPECT_EQ(group(100, {20, 20, 40}).repeats, 0u);
}

// Three calls on one line, in one step of ten thousand each; then one of them in a loop.
TEST(Groups, CallsSideBySideOnOneLineAreNoLoop) {
  LogBuilder log;
  Event wait;
  wait.kind = EventKind::kBlock;
  wait.from = cuda(0);
  for (int call = 0; call < 3; ++call) {
    wait.stack = log.stack({op("item"), python("main", 5)});
    for (std::uint32_t step : {0, 5000, 9000}) {
      wait.step = step;
      log.add(wait);
    }
  }
  Event ended;
  ended.kind = EventKind::kStep;
  for (ended.step = 0; ended.step < 10'000; ++ended.step)
    log.add(ended);
  const auto repeats = [&] {
    return groupByPlace(
               replay(log),
               [](const ResolvedEvent &event) { return event.event.kind == EventKind::kBlock; })
        .at(0)
        .repeats;
  };
  EXPECT_EQ(repeats(), 0u);
  log.add(wait, 3);
  EXPECT_EQ(repeats(), 6u);
}

TEST(Groups, ManyStepsOrManyCallsInOneAre) {
  EXPECT_EQ(group(20, {1, 2, 3}).repeats, 3u);
  EXPECT_EQ(group(100, {50, 50, 50}).repeats, 3u);
}

} // namespace
} // namespace devsan::runtime
