#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule static_state;
}

namespace {

using namespace testing;

class State : public ::testing::Test {
protected:
  State() { program.functions = {{.id = &f}}; }
  Findings judge(StaticState state) {
    program.static_states = {state};
    return rules::static_state.of_file(program);
  }

  WrittenFunction f;
  WrittenProgram program;
  StaticState state{.variable = f.variable("handle", Type::kOther),
                    .thing = DeviceThing::kHandle,
                    .made = f.code({.text = "cublasCreate(&handle)", .line = 7})};
};

TEST_F(State, IsOfOneDevice) {
  const Findings findings = judge(state);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "the handle in 'handle' is of the device that is current at the "
                                 "first call, and serves all devices");
  EXPECT_EQ(findings[0].related.size(), 1u);
}

TEST_F(State, IsKeptForEachDevice) {
  state.one_per_device = true;
  EXPECT_TRUE(judge(state).empty());
}

TEST_F(State, IsThatOfAProgram) {
  program.functions[0].is_main = true;
  EXPECT_TRUE(judge(state).empty());
}

} // namespace
} // namespace devsan::analyzer
