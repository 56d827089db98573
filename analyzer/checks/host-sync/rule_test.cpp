#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule host_sync;
}

namespace {

using namespace testing;

// `_safe_divide` of TorchMetrics, which every update() calls: whether a denominator is zero is read
// on the host, and the number that takes its place is copied to the device.
class SafeDivide : public ::testing::Test {
protected:
  SafeDivide() { f.step = "in '_safe_divide', which 'update' calls"; }

  Findings judge() { return rules::host_sync.of_function(f, program); }

  // if (denom == 0).any(): …
  Operand ask() {
    const Operand mask = f.apply("denom == 0", "eq", {f.use(denom)}, Dtype::kBool);
    const Operand any = f.apply("(denom == 0).any()", "any", {mask}, Dtype::kBool);
    return f.apply("(denom == 0).any()", "is_nonzero", {any});
  }

  WrittenFunction f;
  WrittenProgram program;
  const Variable num = f.parameter("num"), denom = f.parameter("denom");
};

TEST_F(SafeDivide, ReadsAConditionOnEveryStep) {
  ask();
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(
      findings[0].message,
      "'(denom == 0).any()' gives the host a result of the device, so the host waits on every "
      "step (in '_safe_divide', which 'update' calls)");
  EXPECT_EQ(findings[0].op, "aten::is_nonzero");
  EXPECT_EQ(findings[0].to, "cpu");
}

TEST_F(SafeDivide, IsLeftToOtherFilesWhereThisOneDoesNotTell) {
  f.step = "";
  ask();
  EXPECT_TRUE(judge().empty());
  program.possible_steps = {"usr"};
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].steps, std::vector<std::string>{"usr"});
}

TEST_F(SafeDivide, CopiesAHostNumber) {
  Operand zero = f.make("torch.tensor(zero_division)", "tensor");
  zero.value.zero_dim = true;
  zero.value.add(Origin::Kind::kHostScalar, zero.expr);
  f.move("torch.tensor(zero_division).to(num.device)", zero, onDeviceOf(num));
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].message.find("copies one host value to the device on every step"),
            std::string::npos);
  EXPECT_EQ(findings[0].from, "cpu");
}

TEST_F(SafeDivide, SizesAResultByAMask) {
  const Operand mask = f.apply("denom == 0", "eq", {f.use(denom)}, Dtype::kBool);
  f.apply("num[denom == 0]", "index", {f.use(num), mask});
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].remedy, "keep the shape: `torch::where` or `masked_fill`");
}

TEST_F(SafeDivide, AsksOnceForAll) {
  f.step = "";
  ask();
  EXPECT_TRUE(judge().empty());
}

TEST_F(SafeDivide, WorksOnTheHost) {
  program.knows_devices = false;
  f.apply("torch.rand(1).item()", "item", {{f.code({.text = "torch.rand(1)"}), Value::unknown()}});
  EXPECT_TRUE(judge().empty());
}

TEST_F(SafeDivide, DoesNotWaitForWhatIsAllowed) {
  f.piece(ask().expr).sync_allowed = true;
  EXPECT_TRUE(judge().empty());
}

TEST_F(SafeDivide, DoesNotWaitForACopyThatDoesNotBlock) {
  const Operand copy =
      f.move("denom.to('cpu', non_blocking=True)", f.use(denom), on(Place::host()));
  f.piece(copy.expr).given["non_blocking"] = Argument::kTrue;
  EXPECT_TRUE(judge().empty());
}

TEST_F(SafeDivide, DoesNotWaitLongerForTheAnswerOfAnInference) {
  f.move("denom.cpu()", f.use(denom), on(Place::host()));
  EXPECT_EQ(judge().size(), 1u);
  program.ends_inference = true;
  EXPECT_TRUE(judge().empty());
}

TEST_F(SafeDivide, ReadsATensorOnce) {
  f.apply("denom.item()", "item", {f.use(denom)});
  f.apply("denom.item()", "item", {f.use(denom)});
  EXPECT_EQ(judge().size(), 1u);
}

} // namespace
} // namespace devsan::analyzer
