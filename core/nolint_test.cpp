#include "core/nolint.h"
#include "test/support/temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace devsan::core {
namespace {

bool isSilenced(const std::string &source, unsigned line) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() / "test.py";
  std::ofstream(file) << source;
  Finding finding;
  finding.rule = "device-host-sync";
  finding.locations = {{file, line, 1, "f"}};
  SourceLines lines;
  return hasNolint(finding, lines);
}

TEST(Nolint, OnTheLineNamesTheRule) {
  EXPECT_TRUE(isSilenced("x.item()  # NOLINT(device-host-sync): logged\n", 1));
  EXPECT_TRUE(isSilenced("x.item(); // NOLINT(a, device-host-sync)\n", 1));
  EXPECT_TRUE(isSilenced("x.item(); // NOLINT(device-*)\n", 1));
}

TEST(Nolint, OnTheLineAbove) {
  EXPECT_TRUE(isSilenced("// NOLINTNEXTLINE(device-host-sync)\nx.item();\n", 2));
  EXPECT_FALSE(isSilenced("// NOLINT(device-host-sync)\nx.item();\n", 2));
  EXPECT_FALSE(isSilenced("// NOLINTNEXTLINE(device-host-sync)\n", 1));
}

TEST(Nolint, OfAnotherRuleOrOfNoneDoesNotCount) {
  EXPECT_FALSE(isSilenced("x.item(); // NOLINT(device-bare-cuda)\n", 1));
  EXPECT_FALSE(isSilenced("x.item(); // NOLINT\n", 1));
  EXPECT_FALSE(isSilenced("x.item(); // NOLINT(\n", 1));
  EXPECT_FALSE(isSilenced("", 1));
}

} // namespace
} // namespace devsan::core
