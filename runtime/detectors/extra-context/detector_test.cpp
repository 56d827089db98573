#include "runtime/detectors/detector.h"
#include "runtime/read/home_device.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectExtraContext(const Recording &recording);

namespace {

using namespace testing;

// One process that uses devices.
class Rank {
public:
  Rank &works(DeviceId device, int times, unsigned line = 3) {
    return use(device, 0, times, log_.stack({op("zeros"), user("train", line)}), "");
  }
  Rank &touches(DeviceId device, unsigned line = 7) {
    return use(device, kContextOnly, 1, log_.stack({user("train", line)}), "cudaDeviceSynchronize");
  }
  Rank &steps(int count) {
    Event event;
    event.kind = EventKind::kStep;
    log_.add(event, count);
    return *this;
  }
  operator LogBuilder() const { return log_; }

private:
  Rank &use(DeviceId device, std::uint32_t flags, int times, StackId stack, const char *function) {
    Event event;
    event.kind = EventKind::kDeviceUse;
    event.from = device;
    event.flags = flags;
    event.stack = stack;
    event.op = log_.string(function);
    log_.add(event, times);
    return *this;
  }

  LogBuilder log_;
};

// Of the first process; the others work where it is said.
std::vector<core::Finding> findingsOf(const LogBuilder &log, std::vector<DeviceId> others = {}) {
  Recording recording = replay(log);
  recording.setHomesOfOthers(std::move(others));
  return detectExtraContext(recording);
}

TEST(ExtraContext, FlagsAnEmptyContext) {
  const auto findings = findingsOf(Rank().works(cuda(1), 5).touches(cuda(0)));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kWarning);
  EXPECT_EQ(findings[0].message,
            "the process works on cuda:1, but in cudaDeviceSynchronize it also "
            "made a context on cuda:0, which it uses for nothing");
  EXPECT_EQ(findings[0].locations[0].line, 7u);
}

TEST(ExtraContext, IsMadeOnceHoweverOftenItIsUsed) {
  const auto findings =
      findingsOf(Rank().works(cuda(1), 40).works(cuda(0), 4, 9).steps(4), {cuda(0)});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].count, 1u);
  EXPECT_EQ(findings[0].steps, core::Steps{});
}

TEST(ExtraContext, FlagsStrayMemoryOnAnotherRanksDevice) {
  const auto findings =
      findingsOf(Rank().works(cuda(1), 40).works(cuda(0), 1, 9), {cuda(0), cuda(2)});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "the process works on cuda:1, but in aten::zeros it also made a "
                                 "context on cuda:0, where another process works");
  EXPECT_EQ(findings[0].locations[0].line, 9u);
}

TEST(ExtraContext, ReadsCudasOwnCalls) {
  LogBuilder log;
  Event event;
  event.kind = EventKind::kContext;
  event.from = cuda(1);
  event.stack = log.stack({user("train", 3)});
  log.add(event);
  event.kind = EventKind::kAllocation;
  log.add(event, 5);
  event.kind = EventKind::kContext;
  event.from = cuda(0);
  event.op = log.string("cudaDeviceSynchronize");
  event.stack = log.stack({user("train", 7)});
  log.add(event);
  const auto findings = findingsOf(log);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].to, "cuda:0");
  EXPECT_EQ(findings[0].locations[0].line, 7u);
}

TEST(ExtraContext, IsSilentForADividedModel) {
  EXPECT_TRUE(findingsOf(Rank().works(cuda(0), 64).works(cuda(1), 40), {cuda(1)}).empty());
}

TEST(ExtraContext, IsSilentForAnotherDeviceOfTheOnlyProcess) {
  EXPECT_TRUE(findingsOf(Rank().works(cuda(0), 40).works(cuda(1), 1)).empty());
}

TEST(ExtraContext, IsSilentWhereEveryRankHasItsDevice) {
  EXPECT_TRUE(findingsOf(Rank().touches(cuda(1)).works(cuda(1), 40), {cuda(0)}).empty());
}

TEST(ExtraContext, IsSilentForAProcessThatWorksNowhere) {
  EXPECT_TRUE(findingsOf(Rank().touches(cuda(0)).touches(cuda(1))).empty());
}

TEST(ExtraContext, AProcessIsAtHomeWhereItWorksMost) {
  const LogBuilder log = Rank().touches(cuda(0)).works(cuda(1), 3).works(cuda(0), 1);
  const auto parsed = parseLog(log.bytes(), "test.devsanlog");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(homeDevice(parsed->tallies, /*is_simulated=*/true), cuda(1));
  EXPECT_EQ(homeDevice(parsed->tallies, /*is_simulated=*/false), std::nullopt);
}

// Of what happens often at one place the log keeps samples, but it counts all.
TEST(ExtraContext, AProcessIsAtHomeWhereItWorksMostThoughFewSamplesAreKept) {
  const LogBuilder log =
      Rank().works(cuda(1), 1000).works(cuda(0), 50, 4).works(cuda(0), 50, 5).works(cuda(0), 50, 6);
  const auto parsed = parseLog(log.bytes(), "test.devsanlog");
  ASSERT_TRUE(parsed);
  ASSERT_LT(parsed->events.size(), 1000u);
  EXPECT_EQ(homeDevice(parsed->tallies, /*is_simulated=*/true), cuda(1));
}

} // namespace
} // namespace devsan::runtime
