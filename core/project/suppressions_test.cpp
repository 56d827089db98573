#include "core/project/suppressions.h"

#include <gmock/gmock.h>

namespace devsan::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Finding findingAt(std::string rule, std::string file, std::string function) {
  Finding finding;
  finding.rule = std::move(rule);
  finding.locations = {{std::move(file), 1, 1, std::move(function)}};
  return finding;
}

TEST(Suppressions, CoverByFileAndByFunction) {
  Suppressions suppressions;
  ASSERT_TRUE(
      suppressions.add("device-host-sync = [\"src/*.cpp\", \"function:*::log\"]", "s.toml", ""));
  EXPECT_TRUE(suppressions.covers(findingAt("device-host-sync", "src/a.cpp", "f")));
  EXPECT_TRUE(suppressions.covers(findingAt("device-host-sync", "lib/a.cpp", "Trainer::log")));
  EXPECT_FALSE(suppressions.covers(findingAt("device-host-sync", "lib/a.cpp", "f")));
  EXPECT_FALSE(suppressions.covers(findingAt("device-bare-cuda", "src/a.cpp", "f")));
}

TEST(Suppressions, CoverAFolder) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("device-host-sync = [\"vendor\", \"old/\"]", "/p/s.toml", ""));
  EXPECT_TRUE(suppressions.covers(findingAt("device-host-sync", "vendor/lib/a.cpp", "f")));
  EXPECT_TRUE(suppressions.covers(findingAt("device-host-sync", "/p/old/a.cpp", "f")));
  EXPECT_FALSE(suppressions.covers(findingAt("device-host-sync", "vendored/a.cpp", "f")));
  EXPECT_FALSE(suppressions.covers(findingAt("device-host-sync", "a.cpp", "vendor")));
}

TEST(Suppressions, CoverByACallerOnTheStack) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("device-host-sync = \"function:evaluate\"", "s.toml", ""));
  Finding finding = findingAt("device-host-sync", "a.cpp", "f");
  finding.stack = {{{"a.cpp", 1, 1, "f"}, "", true}, {{"b.cpp", 9, 1, "evaluate"}, "", true}};
  EXPECT_TRUE(suppressions.covers(finding));
}

TEST(Suppressions, CoverSeveralPlacesByTheCallersOfEach) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("device-host-sync = \"function:evaluate\"", "s.toml", ""));
  const Frame caller = {{"b.cpp", 9, 1, "evaluate"}, "", true};
  Finding finding = findingAt("device-host-sync", "a.cpp", "f");
  finding.stack = {{finding.locations[0], "", true}, caller};
  const Location other = {"a.cpp", 4, 1, "g"};
  finding.locations.push_back(other);
  EXPECT_FALSE(suppressions.covers(finding));
  finding.other_stacks = {{other, {{other, "", true}, caller}}};
  EXPECT_TRUE(suppressions.covers(finding));
  finding.stack.pop_back();
  EXPECT_FALSE(suppressions.covers(finding));
}

TEST(Suppressions, ListWhatCoveredNothing) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add(
      "[suppressions]\ndevice-mismatch = \"old.cpp\"\ndevice-host-sync = \"a.cpp\"\n",
      ".devsan.toml", "suppressions"));
  suppressions.covers(findingAt("device-host-sync", "a.cpp", "f"));
  EXPECT_THAT(suppressions.unused([](const Rule &) { return true; }),
              ElementsAre("device-mismatch = old.cpp (.devsan.toml:2)"));
}

TEST(Suppressions, ErrorsNameFileLineAndTheValidForms) {
  const auto error = [](const std::string &text, const std::string &table = "") {
    return Suppressions().add(text, "s.toml", table).error().message;
  };
  EXPECT_THAT(error("\ndevice-typo = \"x\""),
              testing::AllOf(HasSubstr("s.toml:2: unknown rule 'device-typo'"),
                             HasSubstr("device-host-sync")));
  EXPECT_THAT(error("device-host-sync = 3"),
              HasSubstr("s.toml:1: 'device-host-sync' must be a glob"));
  EXPECT_THAT(error("device-host-sync = [\"a\", 3]"), HasSubstr("must be a glob"));
  EXPECT_THAT(error("device-host-sync = "), HasSubstr("s.toml:1: "));
  EXPECT_THAT(error("device-host-sync = \"\""), HasSubstr("must be a glob"));
  EXPECT_THAT(error("device-host-sync = \"function:\""), HasSubstr("must be a glob"));
  EXPECT_THAT(error("[suppressions]\n[other]"), HasSubstr("s.toml:2: unknown key 'other'"));
  EXPECT_THAT(error("suppressions = 1", "suppressions"),
              HasSubstr("'suppressions' must be a table"));
}

TEST(Suppressions, ThoseOfRulesThatWereNotLookedForAreNotUnused) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("device-raw-set-device = \"a.cpp\"\ndevice-mismatch = \"a.cpp\"",
                               "s.toml", ""));
  EXPECT_THAT(suppressions.unused([](const Rule &rule) { return rule.on_runtime; }),
              ElementsAre("device-mismatch = a.cpp (s.toml:2)"));
}

TEST(Suppressions, ARunOverAPartJudgesThoseForFilesThatItRead) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("device-host-sync = [\"src/a.cpp\", \"src/b.cpp\", \"function:f\"]",
                               "/project/s.toml", ""));
  const auto unused = [&](const std::string &input) {
    return suppressions.unused([](const Rule &) { return true; },
                               Suppressions::Seen{{input}, {"/project/src/a.cpp", "src/a.cpp"}});
  };
  EXPECT_THAT(unused("/project/src"),
              ElementsAre("device-host-sync = src/a.cpp (/project/s.toml:1)"));
  EXPECT_THAT(unused("/project/"), testing::SizeIs(3));
}

TEST(Suppressions, NothingOfAMalformedFileIsUsed) {
  Suppressions suppressions;
  ASSERT_FALSE(suppressions.add("device-host-sync = \"*\"\ndevice-typo = \"*\"", "s.toml", ""));
  EXPECT_FALSE(suppressions.covers(findingAt("device-host-sync", "a.cpp", "f")));
}

TEST(Suppressions, CoverPathsFromTheFolderOfTheirFile) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("device-host-sync = \"src/a.cpp\"", "/project/s.toml", ""));
  EXPECT_TRUE(suppressions.covers(findingAt("device-host-sync", "/project/src/a.cpp", "f")));
  EXPECT_FALSE(suppressions.covers(findingAt("device-host-sync", "/projects/src/a.cpp", "f")));
}

TEST(Suppressions, AFileOfSuppressionsMayHoldTheTableOfAProjectFile) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("[suppressions]\ndevice-host-sync = \"a.cpp\"", "s.toml", ""));
  EXPECT_TRUE(suppressions.covers(findingAt("device-host-sync", "a.cpp", "f")));
}

TEST(Suppressions, AProjectFileHoldsNothingElse) {
  EXPECT_TRUE(Suppressions().add("", ".devsan.toml", "suppressions"));
  EXPECT_THAT(Suppressions()
                  .add("device-host-sync = \"a\"", ".devsan.toml", "suppressions")
                  .error()
                  .message,
              HasSubstr(".devsan.toml:1: unknown key 'device-host-sync'; valid are the tables "
                        "[budgets], [check], [run], [suppressions]"));
}

} // namespace
} // namespace devsan::core
