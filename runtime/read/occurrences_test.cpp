#include "runtime/read/occurrences.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

using testing::LogBuilder;

Event inStep(std::uint32_t step, std::uint64_t bytes = 0) {
  Event event;
  event.step = step;
  event.bytes = bytes;
  event.blocked_ns = 10;
  event.thread = 7;
  return event;
}

// Of a thread that shares its tally with others, whose steps the log does not tell.
Event shared(Event event) {
  event.thread = 0;
  return event;
}

Occurrences together(const Occurrences &a, const Occurrences &b) {
  return runtime::together(std::vector{a, b});
}

Occurrences count(std::initializer_list<Event> events) {
  LogBuilder log;
  for (const Event &event : events)
    log.add(event);
  return testing::replay(log).events().front().occurrences;
}

TEST(Occurrences, OneEventIsItself) {
  EXPECT_EQ(Occurrences::of(inStep(3, 4)), (Occurrences{1, 4, 10, 4, 3, 3, 1, 1, {{3, 0, 1, 1}}}));
  EXPECT_EQ(count({inStep(3, 4)}), Occurrences::of(inStep(3, 4)));
}

TEST(Occurrences, CountsStepsAndTheBusiestOne) {
  const Occurrences all =
      count({inStep(2, 8), inStep(2, 4), inStep(5, 4), inStep(5, 4), inStep(5, 4), inStep(9, 4)});
  EXPECT_EQ(all,
            (Occurrences{6, 28, 60, 8, 2, 9, 3, 3, {{2, 0, 1, 2}, {5, 0, 1, 3}, {9, 0, 1, 1}}}));
  EXPECT_FALSE(all.sameSize());
  EXPECT_TRUE(count({inStep(0, 4), inStep(1, 4)}).sameSize());
}

TEST(Occurrences, TogetherInDifferentStepsOrInOneIsExact) {
  const Occurrences apart = together(count({inStep(1), inStep(1)}), count({inStep(2), inStep(4)}));
  EXPECT_EQ(apart, (Occurrences{4, 0, 40, 0, 1, 4, 3, 2, {{1, 0, 1, 2}, {2, 2, 2, 1}}}));
  const Occurrences same = together(count({inStep(1), inStep(1)}), count({inStep(1)}));
  EXPECT_EQ(same, (Occurrences{3, 0, 30, 0, 1, 1, 1, 3, {{1, 0, 1, 3}}}));
  EXPECT_EQ(together({}, same), same);
  EXPECT_EQ(together(same, {}), same);
}

// Two calls on a line, each with another stack from the eighth step on.
TEST(Occurrences, TogetherAPartMayFollowAnother) {
  const auto inSteps = [](std::uint32_t first, std::uint32_t last) {
    const std::uint32_t steps = last - first + 1;
    return Occurrences{steps, 0, 0, 0, first, last, steps, 1, {}};
  };
  const std::vector parts{inSteps(0, 7), inSteps(0, 8), inSteps(8, 39), inSteps(9, 39)};
  const Occurrences all = together(parts);
  EXPECT_EQ(all.count, 80u);
  EXPECT_EQ(all.most_in_step, 2u);
  EXPECT_EQ(together(std::vector{inSteps(0, 4), inSteps(2, 9), inSteps(4, 9)}).most_in_step, 3u);
  EXPECT_EQ(together(std::vector<Occurrences>()), Occurrences());
}

TEST(Occurrences, OneStepHasAllOfThem) {
  LogBuilder log;
  log.add(inStep(3)).tally(inStep(3)).count = 6'000'000'000; // more than a tally counts in a step
  EXPECT_EQ(testing::replay(log).events().front().occurrences.most_in_step, 6'000'000'000);
}

// While a profiler observes LibTorch's dispatcher, a line has another native stack.
TEST(Occurrences, TogetherInMixedStepsIsExactWhereTheLogTellsThem) {
  const Occurrences mixed = together(count({inStep(0), inStep(2), inStep(4), inStep(4)}),
                                     count({inStep(1), inStep(4), inStep(5)}));
  EXPECT_EQ(mixed,
            (Occurrences{7, 0, 70, 0, 0, 5, 5, 3, {{0, 1, 3, 1}, {4, 0, 1, 3}, {5, 0, 1, 1}}}));
}

TEST(Occurrences, ManyStepsAreBounded) {
  const auto steps = [](std::uint32_t first, std::uint32_t count) {
    return Occurrences{count, 0, 0, 0, first, first + count - 1, count, 1, {{first, 1, count, 1}}};
  };
  const Occurrences few = together(steps(0, 1'000'000), steps(999'999, 1'000'000));
  EXPECT_EQ(few.steps, 1'999'999u);
  EXPECT_EQ(few.runs.size(), 3u);
  const Occurrences many = together(steps(0, 4'000'000), steps(2'000'000, 4'000'000));
  EXPECT_EQ(many.steps, 4'000'000u);
  EXPECT_EQ(many.most_in_step, 2u);
  EXPECT_TRUE(many.runs.empty());
}

TEST(Occurrences, StepsThatGetTheSameNumberAreOne) {
  const auto number = [](std::uint32_t step) { return step <= 3 ? 0 : step - 3; };
  EXPECT_EQ(renumbered(count({inStep(1), inStep(2), inStep(2), inStep(4), inStep(7)}), number),
            (Occurrences{5, 0, 50, 0, 0, 4, 3, 3, {{0, 0, 1, 3}, {1, 3, 2, 1}}}));
  const Occurrences unknown = renumbered(
      count({shared(inStep(1)), shared(inStep(2)), shared(inStep(4)), shared(inStep(7))}), number);
  EXPECT_EQ(unknown, (Occurrences{4, 0, 40, 0, 0, 4, 4, 1, {}}));
}

TEST(Occurrences, TogetherInMixedStepsIsBoundedElse) {
  const Occurrences mixed =
      together(count({shared(inStep(0)), shared(inStep(2)), shared(inStep(4))}),
               count({shared(inStep(1)), shared(inStep(5))}));
  EXPECT_EQ(mixed.count, 5u);
  EXPECT_EQ(mixed.steps, 3u);        // at least
  EXPECT_EQ(mixed.most_in_step, 2u); // at most
  EXPECT_EQ(mixed.last_step, 5u);
}

TEST(Occurrences, ARecordingKeepsEqualEventsTogether) {
  LogBuilder log;
  Event event = inStep(0, 4);
  event.time_ns = 100;
  event.group = 1;
  log.add(event, 2);
  event.thread = 8;
  log.add(event);
  event = inStep(1, 8);
  event.time_ns = 200;
  event.group = 2;
  log.add(event, 200);
  const Recording recording = testing::replay(log);
  ASSERT_EQ(recording.events().size(), 2u);
  const ResolvedEvent &first = recording.events()[0];
  EXPECT_EQ(first.occurrences,
            (Occurrences{202, 1608, 2020, 8, 0, 1, 2, 200, {{0, 0, 1, 2}, {1, 0, 1, 200}}}));
  EXPECT_EQ(first.event.time_ns, 100u);
  ASSERT_EQ(first.samples.size(), 64u);
  EXPECT_EQ(first.samples[2].time_ns, 200u);
  EXPECT_EQ(recording.events()[1].occurrences.count, 1u);
}

} // namespace
} // namespace devsan::runtime
