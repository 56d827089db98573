#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule unregistered_state;
}

namespace {

using namespace testing;

// PearsonCorrCoef of TorchMetrics 1.4.0 keeps running means, which its constructor makes on the
// host.
class Pearson : public ::testing::Test {
protected:
  Findings judge() {
    return rules::unregistered_state.of_class(
        {.name = "PearsonCorrCoef", .is_module = is_module, .members = {mean}}, program);
  }

  WrittenFunction update;
  WrittenProgram program;
  bool is_module = false;
  MemberState mean{.field = update.variable("mean_x", Type::kTensor, Role::kMember),
                   .is_tensor = true,
                   .initialised = update.code({.text = "torch.zeros(1)"}),
                   .initial = Place::defaultHost(),
                   .combined = update.code({.text = "preds - self.mean_x", .op = "aten::sub"}),
                   .meets_others = true};
};

TEST_F(Pearson, StatesStayOnTheHost) {
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "tensor member 'mean_x' of metric 'PearsonCorrCoef' is made on the "
            "CPU and stays there");
  EXPECT_EQ(findings[0].op, "aten::sub");
  EXPECT_EQ(findings[0].from, "cpu");
  ASSERT_EQ(findings[0].related.size(), 2u);
  EXPECT_EQ(program.name(findings[0].related[0].variable), "mean_x");
}

TEST_F(Pearson, ModulesStatesAreRegistered) {
  is_module = true;
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix.size(), 1u);
  EXPECT_FALSE(findings[0].caution.empty());
  mean.registered = true;
  EXPECT_TRUE(judge().empty());
}

TEST_F(Pearson, StatesFollowTheFirstInput) {
  mean.follows = true;
  EXPECT_TRUE(judge().empty());
}

TEST_F(Pearson, StatesBelongToTheHost) {
  mean.read_on_host = true;
  mean.meets_others = false;
  EXPECT_TRUE(judge().empty());
}

TEST_F(Pearson, SubmoduleIsLost) {
  is_module = true;
  mean.submodule = true;
  EXPECT_EQ(judge().at(0).message,
            "submodule 'mean_x' of module 'PearsonCorrCoef' is not registered, so it does not "
            "follow .to(), and its parameters are not among the module's");
  program.state = {};
  EXPECT_TRUE(judge().empty());
}

} // namespace
} // namespace devsan::analyzer
