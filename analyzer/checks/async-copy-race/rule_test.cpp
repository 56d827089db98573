#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule async_copy_race;
}

namespace {

using namespace testing;

class CopyToHost : public ::testing::Test {
protected:
  CopyToHost() { program.functions = {{.id = &f}}; }
  CopyStep step(CopyStep::Kind kind, std::string text, Code stream = {}) {
    return {.kind = kind,
            .expr = f.code({.text = std::move(text)}),
            .memory = host,
            .pointer = pointer,
            .stream = stream};
  }
  Findings judge(std::vector<CopyStep> after) {
    program.copy_steps = {step(CopyStep::Kind::kToHost, "cudaMemcpyAsync(host, …)", stream)};
    program.copy_steps.insert(program.copy_steps.end(), after.begin(), after.end());
    return rules::async_copy_race.of_file(program);
  }

  WrittenFunction f;
  WrittenProgram program;
  const Variable host = f.variable("host");
  const Code stream = f.code({.text = "a"}), other = f.code({.text = "b"});
  const Code pointer = f.code({.text = "host"});
};

TEST_F(CopyToHost, IsReadBeforeAWait) {
  const Findings findings = judge({step(CopyStep::Kind::kTouch, "host[0]")});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "the host uses 'host' before it has waited for this copy");
  EXPECT_EQ(findings[0].to, "cpu");
}

TEST_F(CopyToHost, IsReadAfterAWait) {
  EXPECT_TRUE(judge({step(CopyStep::Kind::kWait, "cudaStreamSynchronize(a)"),
                     step(CopyStep::Kind::kTouch, "host[0]")})
                  .empty());
}

TEST_F(CopyToHost, IsReadOnAnotherWay) {
  CopyStep touch = step(CopyStep::Kind::kTouch, "host[0]");
  const CopyStep::Branch branch(&f), yes(&program), no(&f.piece(pointer));
  touch.branches = {{branch, yes}};
  program.copy_steps = {step(CopyStep::Kind::kToHost, "cudaMemcpyAsync(host, …)", stream), touch};
  program.copy_steps[0].branches = {{branch, no}};
  EXPECT_TRUE(rules::async_copy_race.of_file(program).empty());
}

TEST_F(CopyToHost, IsReadByAnotherStream) {
  EXPECT_EQ(judge({step(CopyStep::Kind::kToDevice, "cudaMemcpyAsync(…, host, b)", other)}).size(),
            1u);
  EXPECT_TRUE(
      judge({step(CopyStep::Kind::kToDevice, "cudaMemcpyAsync(…, host, a)", stream)}).empty());
  EXPECT_TRUE(judge({step(CopyStep::Kind::kOrder, "cudaStreamWaitEvent(b, event)"),
                     step(CopyStep::Kind::kToDevice, "cudaMemcpyAsync(…, host, b)", other)})
                  .empty());
}

} // namespace
} // namespace devsan::analyzer
