#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule bare_cuda;
}

namespace {

using namespace testing;

// The same `_cumsum`: of two devices, `.cuda()` names the first.
TEST(BareCuda, CumsumComesBackToTheFirstDevice) {
  WrittenFunction f;
  WrittenProgram program;
  const Variable x = f.parameter("x");
  const Operand host = f.move("x.cpu()", f.use(x), on(Place::host()));
  const Operand sums = f.apply("x.cpu().cumsum(dim)", "cumsum", {host});
  Value current = on(Place::named("CUDA", -1));
  current.add(Origin::Kind::kDeviceName, f.code({.text = "cuda()"}));
  f.move("x.cpu().cumsum(dim).cuda()", sums, current);
  const Findings findings = rules::bare_cuda.of_function(f, program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "'x.cpu().cumsum(dim)' goes to the current cuda device, whichever "
                                 "device 'x' is on: use x.device");
  EXPECT_EQ(findings[0].from, "cpu");
  EXPECT_EQ(findings[0].to, "cuda");
  EXPECT_EQ(findings[0].fix.size(), 1u);
}

class Request : public ::testing::Test {
protected:
  Findings judge(const Place &place) {
    Value target = on(place);
    target.add(Origin::Kind::kDeviceName, f.code({.text = "'cuda'", .guarded = guarded}));
    f.make("torch.zeros(3, device='cuda')", "zeros", target);
    return rules::bare_cuda.of_function(f, program);
  }

  WrittenFunction f;
  WrittenProgram program;
  bool guarded = false;
};

TEST_F(Request, IsThereATensorThatTells) {
  f.parameter("n", Type::kOther);
  EXPECT_TRUE(judge(Place::named("CUDA", -1)).empty());
}

TEST_F(Request, TensorTells) {
  f.parameter("x");
  EXPECT_EQ(judge(Place::named("CUDA", -1)).size(), 1u);
}

TEST_F(Request, GuardSaysWhichDevice) {
  f.parameter("x");
  guarded = true;
  EXPECT_TRUE(judge(Place::named("CUDA", -1)).empty());
}

TEST_F(Request, ProgramChoosesItsDevice) {
  f.parameter("x");
  f.is_main = true;
  EXPECT_TRUE(judge(Place::named("CUDA", 1)).empty());
}

TEST(BareCuda, FixedDeviceIsKept) {
  WrittenFunction f;
  WrittenProgram program;
  Value device = on(Place::named("CUDA", 1));
  device.add(Origin::Kind::kDeviceName, f.code({.text = "'cuda:1'"}));
  f.assign({f.variable("device", Type::kDevice), {}},
           {f.code({.text = "torch.device('cuda:1')"}), device});
  const Findings findings = rules::bare_cuda.of_function(f, program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "'device' is the fixed device cuda:1, whichever GPU the program is to use");
}

} // namespace
} // namespace devsan::analyzer
