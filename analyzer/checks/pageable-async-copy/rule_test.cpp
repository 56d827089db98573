#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule pageable_async_copy;
}

namespace {

using namespace testing;

class AsyncCopy : public ::testing::Test {
protected:
  Findings judge(const Operand &host, Argument non_blocking) {
    const Operand copy =
        f.move("x.to('cuda', non_blocking=True)", host, on(Place::named("CUDA", -1)));
    f.piece(copy.expr).given["non_blocking"] = non_blocking;
    return rules::pageable_async_copy.of_function(f, program);
  }

  WrittenFunction f;
  WrittenProgram program;
};

TEST_F(AsyncCopy, FromPageableMemory) {
  const Findings findings = judge(f.make("torch.ones(3)", "ones"), Argument::kTrue);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].from, "cpu");
  EXPECT_EQ(findings[0].to, "cuda");
}

TEST_F(AsyncCopy, ThatBlocks) {
  EXPECT_TRUE(judge(f.make("torch.ones(3)", "ones"), Argument::kLeftOut).empty());
}

TEST_F(AsyncCopy, FromWhereverAParameterIs) {
  EXPECT_TRUE(judge(f.use(f.parameter("x")), Argument::kTrue).empty());
}

TEST_F(AsyncCopy, FromMemoryThatAPointerNames) {
  const Operand blob = f.make("torch::from_blob(p, 3)", "from_blob");
  EXPECT_TRUE(judge(blob, Argument::kTrue).empty());
  f.piece(blob.expr).ordinary_memory = true;
  EXPECT_EQ(rules::pageable_async_copy.of_function(f, program).size(), 1u);
}

} // namespace
} // namespace devsan::analyzer
