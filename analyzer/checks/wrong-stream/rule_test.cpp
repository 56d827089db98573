#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule wrong_stream;
}

namespace {

using namespace testing;

class LaunchOnStream : public ::testing::Test {
protected:
  LaunchOnStream() { program.functions = {{.id = &f}}; }
  Findings judge() {
    program.stream_work = {work};
    return rules::wrong_stream.of_file(program);
  }

  WrittenFunction f;
  WrittenProgram program;
  StreamWork work{.kind = LaunchKind::kKernel,
                  .expr = f.code({.text = "kernel<<<1, 1>>>(x)", .op = "kernel"}),
                  .on_default = true};
};

TEST_F(LaunchOnStream, ServesNobody) {
  EXPECT_TRUE(judge().empty());
}

TEST_F(LaunchOnStream, IsOnTheDefaultOne) {
  program.functions[0].serves_tensors = true;
  program.tensor = f.variable("x");
  const Findings findings = judge();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "the kernel is launched on the default stream, while the work of "
                                 "'x' is on the current one");
  EXPECT_TRUE(findings[0].servants.empty());
  work.on_default = false;
  EXPECT_TRUE(judge().empty());
}

TEST_F(LaunchOnStream, DisobeysItsCaller) {
  program.functions[0].given_stream = f.parameter("stream", Type::kOther);
  EXPECT_EQ(judge().at(0).message,
            "the kernel is launched on the default stream, while the caller gave 'stream'");
  work.kind = LaunchKind::kCopy;
  EXPECT_TRUE(judge().empty());
}

TEST_F(LaunchOnStream, MayServeAnotherFile) {
  program.functions[0].may_serve_others = true;
  EXPECT_EQ(judge().at(0).servants, std::vector<std::string>{"usr"});
}

TEST_F(LaunchOnStream, IsInAMacroOnce) {
  program.functions[0].serves_tensors = true;
  work.in_macro = 7;
  program.stream_work = {work, work};
  const Findings findings = rules::wrong_stream.of_file(program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].at_position, 7u);
}

TEST_F(LaunchOnStream, WasTakenBeforeTheGuard) {
  program.functions[0].serves_tensors = true;
  work.on_default = false;
  work.stream = f.variable("stream", Type::kOther);
  work.taken_before_guard = f.code({.text = "getCurrentCUDAStream()"});
  EXPECT_EQ(judge().at(0).message, "'stream' is the stream of the device that was current before "
                                   "the guard, not of the tensor's device");
}

} // namespace
} // namespace devsan::analyzer
