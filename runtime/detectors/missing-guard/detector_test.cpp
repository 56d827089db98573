// Launches are tested together: each says which of the two rules answers.
#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

using namespace testing;

struct Launch {
  DeviceId from = cuda(0);
  DeviceId to{1, -1};
  std::uint32_t flags = 0;
  std::string streams = "7f00 35"; // of the launch, and LibTorch's current one
};

Event launchOf(LogBuilder &log, const Launch &launch) {
  Event event;
  event.kind = EventKind::kLaunch;
  event.from = launch.from;
  event.to = launch.to;
  event.flags = launch.flags;
  event.op = log.string("cudaLaunchKernel");
  event.operand = log.string("scale");
  event.detail = log.string(launch.streams);
  event.stack = log.stack({user("scaleOnDevice", 12), user("main", 30)});
  return event;
}

std::vector<core::Finding> findingsOf(const Launch &launch, int times = 1) {
  LogBuilder log;
  log.add(launchOf(log, launch), times);
  return detectAll(replay(log));
}

TEST(Launches, WithMemoryOfAnotherDeviceLackAGuard) {
  const auto findings = findingsOf({.to = cuda(1)}, 2);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-missing-guard");
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
  EXPECT_EQ(findings[0].message, "kernel scale was launched on cuda:0, the current device, with "
                                 "memory of cuda:1");
  EXPECT_EQ(findings[0].locations[0].line, 12u);
}

TEST(Launches, NameTheKernelAsTheProgramDoes) {
  LogBuilder log;
  Event event = launchOf(log, {.to = cuda(1)});
  event.operand = log.string("_ZN3ops5scaleIfEEvPT_S1_i");
  log.add(event);
  EXPECT_EQ(detectAll(replay(log)).at(0).message,
            "kernel ops::scale was launched on cuda:0, the current "
            "device, with memory of cuda:1");
}

// nvcc's: the stub, and the kernel's own function that calls it.
TEST(Launches, AreWhereTheKernelIsLaunched) {
  LogBuilder log;
  Event event = launchOf(log, {.to = cuda(1)});
  event.stack =
      log.stack({user("__cudaLaunchKernel_helper", 2963), user("__device_stub__Z5scalePffi", 4),
                 user("scale", 8), user("scaleOnDevice", 12), user("main", 30)});
  log.add(event);
  EXPECT_EQ(detectAll(replay(log)).at(0).locations[0].line, 12u);
}

TEST(Launches, SayWhereTheOtherDevicesMemoryComesFrom) {
  for (const bool is_move : {false, true}) {
    LogBuilder log;
    Event event = launchOf(log, {.to = cuda(1), .flags = is_move ? kOriginIsMove : 0u});
    event.related = log.stack({user("makeWeights", 5), user("main", 29)});
    log.add(event);
    const auto findings = detectAll(replay(log));
    ASSERT_EQ(findings.size(), 1u);
    ASSERT_EQ(findings[0].related.size(), 1u);
    EXPECT_EQ(findings[0].related[0].location.line, 5u);
    EXPECT_EQ(findings[0].related[0].message,
              is_move ? "moved to cuda:1 here" : "made on cuda:1 here");
  }
}

TEST(Launches, OnTheDefaultStreamWhileAnotherIsCurrentAreWrong) {
  const auto findings = findingsOf({.flags = kDefaultStream, .streams = "0 35"});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-wrong-stream");
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
  EXPECT_EQ(findings[0].message, "kernel scale was launched on the legacy default stream of cuda:0 "
                                 "while stream 35 is LibTorch's current one");
}

TEST(Launches, OnTheDefaultStreamThatIsCurrentAreRight) {
  EXPECT_TRUE(findingsOf({.flags = kDefaultStream, .streams = "0 0"}).empty());
}

TEST(Launches, WithBothMistakesLackAGuard) {
  const auto findings = findingsOf({.to = cuda(1), .flags = kDefaultStream, .streams = "0 35"});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-missing-guard");
}

TEST(Launches, OnAStreamOfTheirDeviceAreRight) {
  EXPECT_TRUE(findingsOf({}).empty());
  EXPECT_TRUE(findingsOf({.to = cuda(0)}).empty());
}

TEST(Launches, OfOperatorsAreNotTheProgramsOwn) {
  LogBuilder log;
  Event event = launchOf(log, {.to = cuda(1), .flags = kDefaultStream, .streams = "0 35"});
  event.stack = log.stack(
      {torch("at::native::copy_device_to_device"), op("copy_"), op("to_device"), user("main", 30)});
  log.add(event);
  EXPECT_TRUE(detectAll(replay(log)).empty());
}

} // namespace
} // namespace devsan::runtime
