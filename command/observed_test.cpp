#include "command/observed.h"

#include <gtest/gtest.h>

namespace devsan::command {
namespace {

core::Finding findingAt(unsigned line) {
  core::Finding finding;
  finding.rule = "device-host-sync";
  finding.locations = {{"/no/such/train.py", line, 0, "step"}};
  return finding;
}

TEST(FindingFilter, CountsPlacesNotProcesses) {
  core::Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("device-host-sync = \"*/train.py\"", "s.toml", ""));
  FindingFilter filter(std::move(suppressions));
  const auto take_away = filter.function();
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_TRUE(take_away(findingAt(1)));
  EXPECT_TRUE(take_away(findingAt(2)));
  EXPECT_EQ(filter.suppressed(), 2u);
  EXPECT_TRUE(filter.unused(true).empty());
}

TEST(FindingFilter, ARuleThatThisRunCannotFindIsNotUnused) {
  core::Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("device-raw-set-device = \"*\"\ndevice-stream-race = \"*\"\n"
                               "device-host-sync = \"*\"",
                               "s.toml", ""));
  const FindingFilter filter(std::move(suppressions));
  EXPECT_EQ(filter.unused(true).size(), 2u);
  ASSERT_EQ(filter.unused(false).size(), 1u);
  EXPECT_EQ(filter.unused(false)[0], "device-host-sync = * (s.toml:3)");
}

} // namespace
} // namespace devsan::command
