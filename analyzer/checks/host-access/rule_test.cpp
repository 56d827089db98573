#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule host_access;
}

namespace {

using namespace testing;

class Pointer : public ::testing::Test {
protected:
  Findings judge(const Operand &tensor) {
    f.host_reads = {{.pointer = f.code({.text = "x.data_ptr()", .line = 2}),
                     .tensor = tensor.expr,
                     .access = f.code({.text = "p[0]", .line = 3})}};
    return rules::host_access.of_function(f, program);
  }

  WrittenFunction f;
  WrittenProgram program;
};

TEST_F(Pointer, IntoADevice) {
  const Findings findings =
      judge(f.make("torch.ones(3, device='cuda:0')", "ones", on(Place::named("CUDA", 0))));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "the host follows a pointer into 'torch.ones(3, device='cuda:0')', "
            "which is on cuda:0");
  EXPECT_EQ(findings[0].from, "cuda:0");
  EXPECT_EQ(findings[0].related.size(), 1u);
}

TEST_F(Pointer, IntoTheHost) {
  EXPECT_TRUE(judge(f.make("torch.ones(3)", "ones")).empty());
}

TEST_F(Pointer, IntoAParameter) {
  const Operand x = f.use(f.parameter("x"));
  EXPECT_TRUE(judge(x).empty());
  program.follows_devices = true;
  EXPECT_EQ(judge(x).size(), 1u);
}

TEST_F(Pointer, IntoTheObjectItself) {
  program.follows_devices = true;
  EXPECT_TRUE(judge(f.use(Path{}, "*this")).empty());
}

} // namespace
} // namespace devsan::analyzer
