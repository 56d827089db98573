#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule collective_drops_grad;
}

namespace {

using namespace testing;

// `gather_all_tensors` of TorchMetrics 1.4.0: a list of empty tensors is filled by all_gather.
class GatherAllTensors : public ::testing::Test {
protected:
  GatherAllTensors() {
    f.assign({gathered, {}},
             f.make("[torch.zeros_like(result)]", "zeros_like", onDeviceOf(result)));
    f.line = 2;
    f.gather("torch.distributed.all_gather(gathered, result)", "all_gather", gathered,
             f.use(result));
    f.line = 3;
  }

  Findings judge() { return rules::collective_drops_grad.of_function(f, program); }

  WrittenFunction f;
  WrittenProgram program;
  const Variable result = f.parameter("result"), gathered = f.variable("gathered");
};

TEST_F(GatherAllTensors, LosesTheGraph) {
  f.returns("gathered", {f.use(gathered)});
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "'all_gather' gathers tensors without their autograd graph, and they are used without "
            "the own slice among them: no gradient flows back; put the own tensor back at the own "
            "rank first");
  EXPECT_EQ(program.line(findings[0].at), 2u);
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].message, "handed on here");
  EXPECT_EQ(findings[0].fix.size(), 1u);
}

TEST_F(GatherAllTensors, PutsTheOwnSliceBack) {
  Operand whole = f.use(gathered); // gathered[rank] = result
  whole.value.own_slice = true;
  f.returns("gathered", {whole});
  EXPECT_TRUE(judge().empty());
}

TEST_F(GatherAllTensors, IsCombinedAndLeavesTheFunction) {
  const Operand all = f.apply("torch.cat(gathered)", "cat", {f.use(gathered)});
  f.returns("torch.cat(gathered)", {all});
  EXPECT_FALSE(judge().empty());
}

TEST_F(GatherAllTensors, IsOnlyPrinted) {
  f.apply("torch.cat(gathered)", "cat", {f.use(gathered)});
  EXPECT_TRUE(judge().empty());
}

TEST_F(GatherAllTensors, HasNoGraphToLose) {
  const Operand use = f.use(gathered);
  f.returns("gathered", {use});
  f.piece(f.operations.back().expr).without_grad = true;
  EXPECT_TRUE(judge().empty());
}

} // namespace
} // namespace devsan::analyzer
