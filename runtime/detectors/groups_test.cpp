#include "runtime/detectors/groups.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

using namespace testing;

// What groupByPlace says about waits in the steps given, of a program of so many, and whether that
// happens once.
struct Grouped {
  std::uint64_t repeats;
  bool once;
};

Grouped group(unsigned steps, std::initializer_list<unsigned> waits_in) {
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
  const EventGroup group =
      groupByPlace(
          recording,
          [](const ResolvedEvent &event) { return event.event.kind == EventKind::kBlock; })
          .at(0);
  return {group.repeats, happensOnce(group)};
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

std::uint64_t repeatsOf(LogBuilder &log, std::uint32_t steps) {
  Event ended;
  ended.kind = EventKind::kStep;
  for (ended.step = 0; ended.step < steps; ++ended.step)
    log.add(ended);
  return groupByPlace(
             replay(log),
             [](const ResolvedEvent &event) { return event.event.kind == EventKind::kBlock; })
      .at(0)
      .repeats;
}

// Below the interpreter each step goes another way; a call that waits on three ways at once does
// not repeat for that.
TEST(Groups, ACallInPythonIsOneWhateverLiesBelow) {
  Event wait;
  wait.kind = EventKind::kBlock;
  wait.from = cuda(0);
  for (const bool in_steps : {true, false}) {
    LogBuilder log;
    for (std::uint32_t i = 0; i < 3; ++i) {
      wait.stack = log.stack({op("item"), python("main", 5, "/src/train.py", 24)});
      wait.step = in_steps ? i : 0;
      log.add(wait);
    }
    EXPECT_EQ(repeatsOf(log, 3), in_steps ? 3u : 0u);
  }
}

TEST(Groups, WhatTheFirstStepAloneDoesAFewTimesIsNoLoop) {
  EXPECT_EQ(group(2, {0, 0, 0}).repeats, 0u);
  EXPECT_EQ(group(2, {0, 0, 0, 1}).repeats, 4u);
  EXPECT_EQ(group(1, {0, 0, 0}).repeats, 3u);
  EXPECT_TRUE(group(2, {0, 0, 0}).once);
}

TEST(Groups, FewStepsMayTellThatItHappensOnce) {
  EXPECT_FALSE(group(0, {0}).once);
  EXPECT_FALSE(group(1, {0}).once);
  EXPECT_FALSE(group(2, {0, 1}).once);
  EXPECT_TRUE(group(2, {1}).once);
  EXPECT_TRUE(group(1, {1}).once); // after the last one
}

TEST(Groups, ManyStepsOrManyCallsInOneAre) {
  EXPECT_EQ(group(20, {1, 2, 3}).repeats, 3u);
  EXPECT_EQ(group(100, {50, 50, 50}).repeats, 3u);
}

} // namespace
} // namespace devsan::runtime
