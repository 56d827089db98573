#include "core/finding/nolint.h"
#include "test/support/temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace devsan::core {
namespace {

class Source {
public:
  explicit Source(const std::string &text) { std::ofstream(file_) << text; }

  Finding findingAt(unsigned line) const {
    Finding finding;
    finding.rule = "device-host-sync";
    finding.locations = {{file_, line, 1, "f"}};
    return finding;
  }

private:
  test::TemporaryFolder folder_;
  std::string file_ = folder_.path() / "test.py";
};

bool isSilenced(const std::string &source, unsigned line) {
  SourceLines lines;
  return hasNolint(Source(source).findingAt(line), lines);
}

std::vector<std::string> mistakenIn(const std::string &text) {
  const Source source(text);
  SourceLines lines;
  return mistakenNolints(std::vector{source.findingAt(2), source.findingAt(2)}, lines);
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

TEST(Nolint, AtOneOfSeveralPlacesDoesNotSilenceTheOthers) {
  const auto isSilencedAtBoth = [](const std::string &text) {
    const Source source(text);
    Finding finding = source.findingAt(1);
    finding.locations.push_back(source.findingAt(2).locations.front());
    SourceLines lines;
    return hasNolint(finding, lines);
  };
  EXPECT_FALSE(isSilencedAtBoth("x.item()  # NOLINT(device-host-sync)\ny.item()\n"));
  EXPECT_TRUE(isSilencedAtBoth("x.item()  # NOLINT(device-host-sync)\n"
                               "y.item()  # NOLINT(device-host-sync)\n"));
}

TEST(Nolint, ThatNamesNoRuleIsAMistake) {
  const auto misspelt = mistakenIn("\nx.item()  # NOLINT(device-host-snc)\n");
  ASSERT_EQ(misspelt.size(), 1u);
  EXPECT_NE(
      misspelt[0].find("test.py:2: NOLINT(device-host-snc) silences nothing, there is no such "
                       "rule (did you mean 'device-host-sync'?)"),
      misspelt[0].npos);
  EXPECT_EQ(mistakenIn("# NOLINTNEXTLINE(host-sync)\nx.item()\n").size(), 1u);
  EXPECT_EQ(mistakenIn("\nx.item()  # NOLINT(device-nothing-like-it)\n").size(), 1u);
  EXPECT_TRUE(mistakenIn("\nx.item()  # NOLINT(bugprone-foo, device-bare-cuda, *)\n").empty());
  EXPECT_TRUE(mistakenIn("x.item()  # NOLINT(device-host-snc)\ny.item()\n").empty());
}

} // namespace
} // namespace devsan::core
