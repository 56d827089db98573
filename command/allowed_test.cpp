#include "command/allowed.h"
#include "test/support/temporary_folder.h"

#include <fstream>
#include <gtest/gtest.h>

namespace devsan::command {
namespace {

core::Finding refused(unsigned line, std::uint64_t count) {
  core::Finding finding;
  finding.rule = "device-mismatch";
  finding.op = "aten::add";
  finding.locations = {{"test.cpp", line, 0, "refuse"}};
  finding.count = count;
  return finding;
}

TEST(Allowed, TakesAwayWhatWasAllowedEachTime) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(noteAllowed(folder.path(), std::vector{refused(1, 1), refused(2, 1)}));
  EXPECT_TRUE(noteAllowed(folder.path(), std::vector{refused(1, 2)}));
  std::vector findings = {refused(1, 3), refused(2, 2), refused(3, 1)};
  EXPECT_EQ(takeAllowed(folder.path(), findings), 1u);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].locations[0].line, 2u);
}

TEST(Allowed, WhatIsDamagedAllowsNothing) {
  const test::TemporaryFolder folder;
  std::vector findings = {refused(1, 1)};
  EXPECT_EQ(takeAllowed(folder.path(), findings), 0u);
  std::ofstream(folder.path() / "allowed") << "device-mismatch\ttest.cpp\t1\taten::add\tx\n\n\t\n"
                                              "device-mismatch\ttest.cpp\t1\taten::add\t9";
  EXPECT_EQ(takeAllowed(folder.path(), findings), 0u);
  EXPECT_EQ(findings.size(), 1u);
}

} // namespace
} // namespace devsan::command
