#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule module_replaced_after_to;
}

namespace {

using namespace testing;

// Chapter 6 of LLMs-from-scratch: the output layer is replaced after model.to(device).
class ReplacedHead : public ::testing::Test {
protected:
  ReplacedHead() {
    f.line = 2;
    f.moveModule("model.to(device)", {model, {}}, on(Place::named("CUDA", 1)));
    f.line = 5;
    f.replacePart({model, {}}, {model, {head}}, "torch.nn.Linear(768, 2)");
  }

  Findings judge() { return rules::module_replaced_after_to.of_function(f, program); }

  WrittenFunction f;
  WrittenProgram program;
  const Variable model = f.variable("model", Type::kModule);
  const Variable head = f.variable("out_head", Type::kModule, Role::kMember);
};

TEST_F(ReplacedHead, StaysOnTheHost) {
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "'torch.nn.Linear(768, 2)' adds a part on the CPU to 'model', which was moved on line "
            "2: 'model' is on two devices now; call .to(device) on the new part, or on 'model' "
            "afterwards");
  EXPECT_EQ(findings[0].from, "cpu");
  EXPECT_EQ(findings[0].to, "cuda:1");
}

TEST_F(ReplacedHead, IsMovedAfterwards) {
  f.moved_later.insert(f.exit.replaced.begin()->expr);
  EXPECT_TRUE(judge().empty());
}

} // namespace
} // namespace devsan::analyzer
