#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule missing_device;
}

namespace {

using namespace testing;

class Factory : public ::testing::Test {
protected:
  Findings judge() { return rules::missing_device.of_function(f, program); }

  WrittenFunction f;
  WrittenProgram program;
  const Variable x = f.parameter("x");
  const Operand made = f.make("torch.ones(3)", "ones");
};

TEST_F(Factory, MeetsATensorOfTheCaller) {
  f.apply("x + torch.ones(3)", "add", {f.use(x), made});
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "'torch.ones(3)' makes a tensor on the CPU that meets 'x': pass the device (x.device)");
  EXPECT_EQ(findings[0].op, "aten::add");
  EXPECT_EQ(findings[0].from, "cpu");
  EXPECT_EQ(findings[0].fix.size(), 1u);
}

TEST_F(Factory, MeetsItsLike) {
  f.apply("a + b", "add", {made, made});
  EXPECT_TRUE(judge().empty());
}

TEST_F(Factory, IsCopiedFrom) {
  f.apply("x.copy_(made)", "copy_", {f.use(x), made});
  EXPECT_TRUE(judge().empty());
}

TEST_F(Factory, MeetsWhatTheHostReads) {
  f.host_reads = {{.pointer = f.code({.text = "x.data_ptr()"}), .tensor = f.use(x).expr}};
  f.apply("x + torch.ones(3)", "add", {f.use(x), made});
  EXPECT_TRUE(judge().empty());
}

TEST_F(Factory, IsReturnedBeside) {
  f.returns("x, made", {f.use(x), made});
  EXPECT_EQ(judge().size(), 1u);
}

TEST_F(Factory, IsInAProgramWithoutDevices) {
  program.without_devices = true;
  f.apply("x + torch.ones(3)", "add", {f.use(x), made});
  EXPECT_TRUE(judge().empty());
}

} // namespace
} // namespace devsan::analyzer
