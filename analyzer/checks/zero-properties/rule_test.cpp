#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule zero_properties;
}

namespace {

using namespace testing;

class Query : public ::testing::Test {
protected:
  Query() { program.functions = {{.id = &f, .works_on_devices = true}}; }
  Findings judge(PropertyQuery query) {
    program.property_queries = {query};
    return rules::zero_properties.of_file(program);
  }

  WrittenFunction f;
  WrittenProgram program;
  const Code call =
      f.code({.text = "cudaGetDeviceProperties(&p, 0)", .op = "cudaGetDeviceProperties"});
};

TEST_F(Query, AsksDeviceZero) {
  const Findings findings = judge({.expr = call, .of_zero = true});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "asks device 0, while the work may be for another device");
  EXPECT_EQ(findings[0].fix.size(), 1u);
}

TEST_F(Query, AsksBeforeTheGuard) {
  EXPECT_EQ(judge({.expr = call, .guard_follows = true}).size(), 1u);
  program.functions[0].callers_guard = true;
  EXPECT_TRUE(judge({.expr = call, .guard_follows = true}).empty());
}

TEST_F(Query, AsksTheCurrentDevice) {
  EXPECT_TRUE(judge({.expr = call}).empty());
}

TEST_F(Query, ChoosesDeviceZero) {
  program.functions[0].chooses_zero = true;
  EXPECT_TRUE(judge({.expr = call, .of_zero = true}).empty());
}

TEST_F(Query, IsInAProgram) {
  program.functions[0].is_main = true;
  EXPECT_TRUE(judge({.expr = call, .of_zero = true}).empty());
}

} // namespace
} // namespace devsan::analyzer
