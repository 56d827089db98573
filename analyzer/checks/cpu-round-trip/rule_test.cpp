#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule cpu_round_trip;
}

namespace {

using namespace testing;

// `_cumsum` of TorchMetrics 1.4.0, where deterministic algorithms are on: x.cpu().cumsum().cuda()
class Cumsum : public ::testing::Test {
protected:
  Findings judge(const Place &back) {
    f.line = 3;
    const Operand host = f.move("x.cpu()", f.use(x), on(Place::host()));
    f.line = 4;
    const Operand sums = f.apply("x.cpu().cumsum(dim)", "cumsum", {host});
    f.returns("back", {f.move("x.cpu().cumsum(dim).cuda()", sums, on(back))});
    return rules::cpu_round_trip.of_function(f, program);
  }

  WrittenFunction f;
  WrittenProgram program;
  const Variable x = f.parameter("x");
};

TEST_F(Cumsum, GoesToTheHostAndComesBackToTheCurrentDevice) {
  const Findings findings = judge(Place::named("CUDA", -1));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "'x.cpu().cumsum(dim)' goes back to the current cuda device after the data was copied "
            "to the CPU on line 3: both copies make the host wait; compute on the device, or move "
            "once and stay");
  EXPECT_EQ(findings[0].op, "aten::to");
  EXPECT_EQ(findings[0].from, ""); // only run time knows where x was
  EXPECT_EQ(findings[0].to, "cuda");
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(program.spelling(findings[0].related[0].code), "x.cpu()");
}

TEST_F(Cumsum, StaysOnTheHost) {
  EXPECT_TRUE(judge(Place::host()).empty());
}

TEST_F(Cumsum, MayComeToTheHostToo) {
  EXPECT_TRUE(judge(Place::none()).empty());
}

TEST(CpuRoundTrip, KnowsFromWhere) {
  WrittenFunction f;
  WrittenProgram program;
  const Operand made =
      f.make("torch.ones(3, device='cuda:1')", "ones", on(Place::named("CUDA", 1)));
  const Operand host = f.move("made.cpu()", made, on(Place::host()));
  f.move("host.to('cuda:1')", host, on(Place::named("CUDA", 1)));
  const Findings findings = rules::cpu_round_trip.of_function(f, program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].from, "cuda:1");
  EXPECT_EQ(findings[0].to, "cuda:1");
}

} // namespace
} // namespace devsan::analyzer
