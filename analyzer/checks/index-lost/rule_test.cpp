#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule index_lost;
}

namespace {

using namespace testing;

class KindOfDevice : public ::testing::Test {
protected:
  KindOfDevice() { program.functions = {{.id = &f, .touches_tensors = true}}; }
  Findings judge(DeviceKind kind) {
    program.device_kinds = {kind};
    return rules::index_lost.of_file(program);
  }

  WrittenFunction f;
  WrittenProgram program;
  DeviceKind kind{.from = DeviceKind::From::kDeviceType,
                  .expr = f.code({.text = "x.device().type()"}),
                  .tensor = f.code({.text = "x"})};
};

TEST_F(KindOfDevice, LosesTheIndex) {
  const Findings findings = judge(kind);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "the device of 'x' loses its index: no guard is live here");
  EXPECT_EQ(findings[0].fix.size(), 1u);
}

TEST_F(KindOfDevice, IsGuarded) {
  kind.guarded = true;
  EXPECT_TRUE(judge(kind).empty());
}

TEST_F(KindOfDevice, IsThatOfTheCallers) {
  program.functions[0].callers_guard = true;
  EXPECT_TRUE(judge(kind).empty());
}

TEST_F(KindOfDevice, IsTheHost) {
  kind.on_host = true;
  EXPECT_TRUE(judge(kind).empty());
}

TEST_F(KindOfDevice, IsOldCodeForTheHost) {
  kind.from = DeviceKind::From::kLegacyType;
  EXPECT_TRUE(judge(kind).empty());
  program.functions[0].uses_cuda = true;
  EXPECT_EQ(judge(kind).size(), 1u);
}

TEST_F(KindOfDevice, IsThatOfAStream) {
  program.bare_streams = {
      {.expr = f.code({.text = "getCurrentCUDAStream()"}), .tensor = f.variable("x")}};
  EXPECT_EQ(rules::index_lost.of_file(program).at(0).message,
            "the stream is of the current device, which need not be that of 'x': no guard is live "
            "here");
}

} // namespace
} // namespace devsan::analyzer
