#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule missing_guard;
}

namespace {

using namespace testing;

class BareLaunch : public ::testing::Test {
protected:
  BareLaunch() {
    program.tensor = f.parameter("x");
    program.functions = {{.id = &f, .touches_tensors = true, .tensor = program.tensor}};
  }
  Findings judge(std::vector<DeviceWork> work) {
    program.device_work = std::move(work);
    return rules::missing_guard.of_file(program);
  }

  WrittenFunction f;
  WrittenProgram program;
  DeviceWork launch{.kind = DeviceWork::Kind::kLaunch,
                    .expr = f.code({.text = "kernel<<<1, 1>>>(x)", .op = "kernel"}),
                    .line = {0, 4}};
};

TEST_F(BareLaunch, HasNoGuard) {
  const Findings findings = judge({launch});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "the kernel runs on the current device, which need not be that of "
                                 "'x': no guard is live here");
  EXPECT_EQ(findings[0].op, "kernel");
  EXPECT_EQ(findings[0].fix.size(), 1u);
}

TEST_F(BareLaunch, HasAGuard) {
  launch.guarded = true;
  EXPECT_TRUE(judge({launch}).empty());
}

TEST_F(BareLaunch, IsGuardedByItsCallers) {
  program.functions[0].callers_guard = true;
  EXPECT_TRUE(judge({launch}).empty());
  launch.in_new_thread = true;
  EXPECT_EQ(judge({launch}).size(), 1u);
}

TEST_F(BareLaunch, FitsTheCurrentDevice) {
  program.fits_current_device = true;
  EXPECT_TRUE(judge({launch}).empty());
}

TEST_F(BareLaunch, IsInACalledFunction) {
  launch.kind = DeviceWork::Kind::kCall;
  EXPECT_TRUE(judge({launch}).empty());
  launch.inner = f.code({.text = "kernel<<<1, 1>>>(p)", .op = "kernel"});
  EXPECT_EQ(judge({launch}).at(0).related.size(), 1u);
}

TEST_F(BareLaunch, MayBeInAnotherFile) {
  launch.kind = DeviceWork::Kind::kCall;
  program.launcher = "usr";
  EXPECT_EQ(judge({launch}).at(0).launcher, "usr");
}

TEST_F(BareLaunch, TakesItsStreamOnTheSameLine) {
  DeviceWork stream{.kind = DeviceWork::Kind::kStream,
                    .expr = f.code({.text = "getCurrentCUDAStream()"}),
                    .line = {0, 4},
                    .stream = f.variable("stream", Type::kOther)};
  EXPECT_EQ(judge({launch, stream}).size(), 1u);
  stream.line.second = 3;
  EXPECT_EQ(judge({launch, stream}).size(), 2u);
  EXPECT_TRUE(judge({stream}).empty()); // without a launch
}

TEST_F(BareLaunch, AsksBeforeTheGuard) {
  program.late_guards = {{.query = f.code({.text = "current_device()"}),
                          .name = "current_device",
                          .guard = f.code({.text = "x.device()"})}};
  EXPECT_EQ(judge({}).at(0).message,
            "'current_device' answers for the device that is current before the guard");
}

} // namespace
} // namespace devsan::analyzer
