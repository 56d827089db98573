#include "core/report/reports.h"

#include <gmock/gmock.h>

namespace devsan::core {
namespace {

using testing::HasSubstr;
using testing::Not;

Finding finding() {
  Finding finding;
  finding.rule = "device-bare-cuda";
  finding.message = "50 % of\nit";
  finding.remedy = "name it";
  finding.locations = {{"src/a,b:c.cpp", 3, 7, "f"}};
  return finding;
}

TEST(GithubReport, IsAnAnnotationALineWithItsSpecialCharactersEscaped) {
  EXPECT_THAT(githubReport(std::vector{finding()}, {"devsan check", "1 file"}),
              HasSubstr("::warning file=src/a%2Cb%3Ac.cpp,line=3,col=7,title=device-bare-cuda::"
                        "50 %25 of%0Ait%0Aremedy: name it\n"));
}

TEST(GithubReport, LevelsAreGithubs) {
  Finding error = finding(), note = finding();
  error.severity = Severity::kError;
  note.severity = Severity::kNote;
  const std::string text = githubReport(std::vector{error, note}, {"devsan check", "1 file"});
  EXPECT_THAT(text, HasSubstr("::error file="));
  EXPECT_THAT(text, HasSubstr("::notice file="));
}

TEST(GithubReport, KnownFindingsAreOnlyCounted) {
  Finding known = finding();
  known.known = true;
  const std::string text = githubReport(std::vector{known}, {"devsan check", "1 file"});
  EXPECT_THAT(text, Not(HasSubstr("::warning")));
  EXPECT_THAT(text, HasSubstr("devsan check: 1 file: 0 findings, 1 known, 0 suppressed\n"));
}

TEST(GithubReport, WhatWasNotCoveredIsANotice) {
  EXPECT_THAT(githubReport({}, {.tool = "devsan check", .subject = "1 file", .notes = {"x: no"}}),
              HasSubstr("::notice title=devsan check::x: no\n"));
}

} // namespace
} // namespace devsan::core
