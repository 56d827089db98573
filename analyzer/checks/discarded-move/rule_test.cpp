#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule discarded_move;
}

namespace {

using namespace testing;

class Move : public ::testing::Test {
protected:
  Move() { f.piece(moved.expr).discarded = true; }
  Findings judge() { return rules::discarded_move.of_function(f, program); }

  WrittenFunction f;
  WrittenProgram program;
  const Variable x = f.variable("x");
  const Operand moved = f.move("x.cuda()", f.use(x), on(Place::named("CUDA", -1)));
};

TEST_F(Move, IsDiscarded) {
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "'x.cuda()' moves nothing in place: the tensor that it returns is discarded");
  EXPECT_EQ(findings[0].fix.size(), 1u);
}

TEST_F(Move, IsUsed) {
  f.piece(moved.expr).discarded = false;
  EXPECT_TRUE(judge().empty());
}

TEST_F(Move, IsOfTheObjectItself) {
  f.operations.clear();
  const Operand self = f.move("to(device)", f.use(Path{}, "*this"), on(Place::named("CUDA", -1)));
  f.piece(self.expr).discarded = true;
  EXPECT_EQ(judge().size(), 1u);
}

TEST_F(Move, WakesTheDeviceUp) {
  f.named(x).initialiser = f.make("torch.zeros(1)", "zeros").expr;
  f.named(x).mentions = 1;
  EXPECT_TRUE(judge().empty());
  f.named(x).mentions = 2; // used afterwards
  EXPECT_EQ(judge().size(), 1u);
}

TEST_F(Move, IsOfAnAlias) {
  const Variable t = f.variable("t");
  f.named(t).initialiser = f.make("torch.zeros(1)", "zeros").expr;
  f.named(t).mentions = 1;
  f.operations.front().path = Path{t, {}};
  EXPECT_EQ(judge().size(), 1u);
}

} // namespace
} // namespace devsan::analyzer
