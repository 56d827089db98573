#include "core/reports.h"
#include "test/support/temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

namespace devsan::core {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class TextReport : public testing::Test {
protected:
  TextReport() {
    std::ofstream(file_) << "int a;\n  loss.item();\n";
    finding_.rule = "device-host-sync";
    finding_.message = "the host waited";
    finding_.locations = {{file_, 2, 8, "step"}};
  }
  test::TemporaryFolder folder_;
  std::string file_ = folder_.path() / "text_report_test.cpp";
  Finding finding_;
};

TEST_F(TextReport, PrintsClangsLineTheSourceAndTheRemedyOnce) {
  const std::string text =
      textReport(std::vector{finding_, finding_}, {"devsan check", "1 file"}, false);
  EXPECT_THAT(text, StartsWith(file_ + ":2:8: warning: the host waited [device-host-sync]\n"
                                       "    2 |   loss.item();\n"
                                       "      |        ^\n"));
  EXPECT_EQ(text.find("remedy: "), text.rfind("remedy: "));
  EXPECT_THAT(text,
              HasSubstr("devsan check: 1 file: 2 findings (0 errors, 2 warnings, 0 notes)\n"));
}

TEST_F(TextReport, SaysWhatToFixFirstOfWhatARunFound) {
  finding_.origin = Origin::kRuntime;
  std::vector<Finding> findings(6, finding_);
  EXPECT_THAT(textReport(findings, {"devsan run", "a.out"}, false),
              StartsWith("devsan run: fix first, of 6 findings:\n  1. "));
  for (Finding &finding : findings)
    finding.origin = Origin::kStatic;
  EXPECT_THAT(textReport(findings, {"devsan check", "1 file"}, false), Not(HasSubstr("fix first")));
}

TEST_F(TextReport, NamesTheCallersButNotTheLineItself) {
  finding_.stack = {{{file_, 2, 0, "step"}, "", true},
                    {{"lib.cpp", 3, 0, "lib"}, "", false},
                    {{"main.cpp", 9, 1, "main"}, "", true}};
  const std::string text = textReport(std::vector{finding_}, {}, false);
  EXPECT_THAT(text, HasSubstr("main.cpp:9:1: note: called from main\n"));
  EXPECT_THAT(text, Not(HasSubstr("called from step")));
  EXPECT_THAT(text, Not(HasSubstr("called from lib")));
}

TEST_F(TextReport, KeepsControlCharactersFromTheTerminal) {
  finding_.message = "evil \x1b[2J name";
  const std::string text = textReport(std::vector{finding_}, {}, false);
  EXPECT_THAT(text, HasSubstr("evil \\x1b[2J name"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST_F(TextReport, ColoursOnlyWhenAsked) {
  EXPECT_THAT(textReport(std::vector{finding_}, {}, true), HasSubstr("\x1b["));
}

TEST_F(TextReport, SaysThatThereIsNothingAndWhatWasNotCovered) {
  Summary summary{"devsan run", "./a.out"};
  summary.suppressed = 1;
  summary.notes = {"a.cpp: header 'x.h' not found"};
  EXPECT_EQ(textReport({}, summary, false), "devsan run: ./a.out: no findings, 1 suppressed\n"
                                            "devsan run: note: a.cpp: header 'x.h' not found\n");
}

} // namespace
} // namespace devsan::core
