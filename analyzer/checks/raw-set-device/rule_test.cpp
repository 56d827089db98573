#include "analyzer/facts/testing/written.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace rules {
extern const Rule raw_set_device;
}

namespace {

using namespace testing;

class SetOfDevice : public ::testing::Test {
protected:
  SetOfDevice() {
    program.functions = {{.id = &f}};
    program.device_sets.sets = {
        {.expr = f.code({.text = "cudaSetDevice(1)", .op = "cudaSetDevice"}), .is_left = true}};
  }
  std::size_t findings() { return rules::raw_set_device.of_file(program).size(); }

  WrittenFunction f;
  WrittenProgram program;
};

TEST_F(SetOfDevice, IsLeft) {
  const Findings findings = rules::raw_set_device.of_file(program);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "the caller's current device is changed and not restored");
  EXPECT_EQ(findings[0].op, "cudaSetDevice");
}

TEST_F(SetOfDevice, IsRestoredOnEachWay) {
  program.device_sets.sets[0].is_left = false;
  EXPECT_EQ(findings(), 0u);
}

TEST_F(SetOfDevice, IsTheRestoringOne) {
  program.device_sets.sets[0].restores = true;
  EXPECT_EQ(findings(), 0u);
}

TEST_F(SetOfDevice, IsOfAThreadOfItsOwn) {
  program.device_sets.sets[0].in_new_thread = true;
  EXPECT_EQ(findings(), 0u);
}

TEST_F(SetOfDevice, IsAWrappersOrAGuards) {
  program.device_sets.is_wrapper = true;
  EXPECT_EQ(findings(), 0u);
  program.device_sets = {.sets = program.device_sets.sets, .by_guard = true};
  EXPECT_EQ(findings(), 0u);
  program.device_sets = {.sets = program.device_sets.sets, .restored_at_exit = true};
  EXPECT_EQ(findings(), 0u);
}

TEST_F(SetOfDevice, IsAPrograms) {
  program.functions[0].is_main = true;
  EXPECT_EQ(findings(), 0u);
}

} // namespace
} // namespace devsan::analyzer
