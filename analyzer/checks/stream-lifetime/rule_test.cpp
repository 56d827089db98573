#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule stream_lifetime;
}

namespace {

using namespace testing;

TEST(StreamLifetime, TensorIsReleasedBeforeItsUseEnds) {
  WrittenFunction f;
  WrittenProgram program;
  program.functions = {{.id = &f}};
  EXPECT_TRUE(rules::stream_lifetime.of_file(program).empty());
  program.side_uses = {{.expr = f.code({.text = "kernel<<<…, side>>>(x)", .op = "kernel"}),
                        .tensor = f.variable("x"),
                        .stream = f.variable("side", Type::kOther)}};
  const Findings findings = rules::stream_lifetime.of_file(program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "'x' is used on 'side' and released at the end of the function, "
                                 "which does not wait for that stream");
  EXPECT_TRUE(findings[0].related.empty());
  program.side_uses[0].recorded = f.code({.text = "x.record_stream(current)"});
  EXPECT_EQ(rules::stream_lifetime.of_file(program)[0].related.size(), 1u);
}

} // namespace
} // namespace devsan::analyzer
