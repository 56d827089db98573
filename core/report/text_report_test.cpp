#include "core/finding/ownership.h"
#include "core/report/reports.h"
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
  const std::string text = textReport(std::vector{finding_, finding_}, {"devsan check", "1 file"});
  EXPECT_THAT(text, StartsWith(file_ + ":2:8: warning: the host waited [device-host-sync]\n"
                                       "    2 |   loss.item();\n"
                                       "      |        ^\n"));
  EXPECT_EQ(text.find("remedy: "), text.rfind("remedy: "));
  EXPECT_THAT(text, HasSubstr("  remedy as for " +
                              std::filesystem::path(file_).parent_path().filename().string() + "/" +
                              std::filesystem::path(file_).filename().string() + ":2 above\n"));
  EXPECT_THAT(text,
              HasSubstr("devsan check: 1 file: 2 findings (0 errors, 2 warnings, 0 notes)\n"));
}

TEST_F(TextReport, SaysWhatToFixFirstOfWhatARunFound) {
  finding_.origin = Origin::kRuntime;
  std::vector<Finding> findings(6, finding_);
  EXPECT_THAT(textReport(findings, {"devsan run", "a.out"}),
              StartsWith("devsan run: fix first, of 6 findings:\n  1. "));
  for (Finding &finding : findings)
    finding.origin = Origin::kStatic;
  EXPECT_THAT(textReport(findings, {"devsan check", "1 file"}), Not(HasSubstr("fix first")));
}

TEST_F(TextReport, NamesTheCallersButNotTheLineItself) {
  finding_.stack = {{{file_, 2, 0, "step"}, "", true},
                    {{"lib.cpp", 3, 0, "lib"}, "", false},
                    {{"main.cpp", 9, 1, "main"}, "", true}};
  const std::string text = textReport(std::vector{finding_}, {});
  EXPECT_THAT(text, HasSubstr("main.cpp:9:1: note: called from main\n"));
  EXPECT_THAT(text, Not(HasSubstr("called from step")));
  EXPECT_THAT(text, Not(HasSubstr("called from lib")));
}

TEST_F(TextReport, ShowsTheNearestOwnFrameHoweverFarItIs) {
  finding_.origin = Origin::kRuntime;
  finding_.locations = {{"lib/site-packages/lib/a.py", 1, 0, "f0"}};
  for (unsigned i = 0; i < 12; ++i)
    finding_.stack.push_back(
        {{"lib/site-packages/lib/a.py", i + 1, 0, "f" + std::to_string(i)}, "", true});
  finding_.stack.push_back({{"train.py", 7, 0, "main"}, "", true});
  finding_.stack.push_back({{"train.py", 9, 0, "<module>"}, "", true});
  Ownership().mark({&finding_, 1});
  const std::string text = textReport(std::vector(6, finding_), {"devsan run", "a"});
  EXPECT_THAT(text, HasSubstr("called from f6\n"));
  EXPECT_THAT(text, Not(HasSubstr("called from f7\n")));
  EXPECT_THAT(text,
              HasSubstr("train.py:7: note: called from main, the nearest line of your own code\n"));
  EXPECT_THAT(text, Not(HasSubstr("called from <module>")));
  EXPECT_THAT(text, HasSubstr("  1. train.py:7: warning: device-host-sync"));
}

TEST_F(TextReport, SaysOneChangeForSeveralOnceAndFirst) {
  finding_.cure = "pin the batches";
  Finding other = finding_;
  other.cure = "something else";
  EXPECT_THAT(textReport(std::vector{other, finding_, finding_}, {"devsan run", "a"}),
              StartsWith("devsan run: one change for 2 findings: pin the batches\n\n"));
  EXPECT_THAT(textReport(std::vector{finding_, other}, {"devsan run", "a"}),
              Not(HasSubstr("one change")));
}

TEST_F(TextReport, NamesTheOtherPlacesOfACause) {
  for (unsigned line = 3; line < 15; ++line)
    finding_.locations.push_back({"model.py", line, 0, "f"});
  const std::string text = textReport(std::vector{finding_}, {});
  EXPECT_THAT(text, HasSubstr("model.py:12: note: also here\nnote: and at 2 more places\n"));
}

TEST_F(TextReport, NamesTheFunctionWhereNoLineIsKnown) {
  finding_.locations = {{"build/train", 0, 0, "Trainer::step"}};
  EXPECT_THAT(textReport(std::vector{finding_}, {}),
              StartsWith("build/train: warning: the host waited [device-host-sync]\n"
                         "build/train: note: in Trainer::step\n"));
}

TEST_F(TextReport, FoldsWhatNoOwnCodeCalled) {
  Finding foreign = finding_;
  foreign.stack = {{{"/env/site-packages/lib/a.py", 1, 0, "f"}, "", true}};
  Ownership().mark({&foreign, 1});
  const std::vector findings = {finding_, foreign, foreign};
  EXPECT_THAT(textReport(findings, {"devsan run", "a"}, {.folds_libraries = true}),
              testing::EndsWith("devsan run: a: 3 findings (0 errors, 3 warnings, 0 notes)\n"
                                "devsan run: 2 findings inside lib, which no code of the project "
                                "called, are not shown; --report=FILE.txt holds all\n"));
  EXPECT_THAT(textReport(findings, {"devsan run", "a"}), Not(HasSubstr("inside lib")));
}

TEST_F(TextReport, TellsOfNotesThatItDoesNotShow) {
  finding_.severity = Severity::kNote;
  EXPECT_EQ(textReport(std::vector{finding_}, {"devsan run", "a"}, {.least = Severity::kWarning}),
            "devsan run: a: no findings\n"
            "devsan run: note: 1 note not shown; --report=FILE.txt holds all\n");
}

TEST_F(TextReport, EndsLinesOfWindowsAsOthers) {
  std::ofstream(file_, std::ios::trunc) << "int a;\r\n  loss.item();\r\n";
  EXPECT_THAT(textReport(std::vector{finding_}, {}), HasSubstr("    2 |   loss.item();\n"));
}

TEST_F(TextReport, KeepsControlCharactersFromTheTerminal) {
  finding_.message = "evil \x1b[2J name";
  const std::string text = textReport(std::vector{finding_}, {});
  EXPECT_THAT(text, HasSubstr("evil \\x1b[2J name"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST_F(TextReport, ColoursOnlyWhenAsked) {
  EXPECT_THAT(textReport(std::vector{finding_}, {}, {.terminal = {.color = true}}),
              HasSubstr("\x1b["));
}

TEST_F(TextReport, BreaksLinesBetweenWordsWhereTheTerminalEnds) {
  finding_.locations.clear();
  finding_.message = "the host waited for cuda:1 in aten::item";
  finding_.remedy = "keep it on the device";
  Summary summary{"devsan run", "a/path/that/is/longer/than/a/line"};
  EXPECT_EQ(textReport(std::vector{finding_}, summary, {.terminal = {.columns = 24}}),
            "warning: the host waited for cuda:1 in aten::item [device-host-sync]\n" // whole
            "  remedy: keep it on the\n"
            "      device\n"
            "devsan run:\n"
            "      a/path/that/is/longer/than/a/line:\n"
            "      1 finding (0\n"
            "      errors, 1 warning,\n"
            "      0 notes)\n");
  const std::string narrow =
      textReport(std::vector{finding_}, summary, {.terminal = {.color = true, .columns = 24}});
  EXPECT_THAT(narrow, HasSubstr("keep it on the\n      device"));
  EXPECT_THAT(textReport(std::vector{finding_}, summary),
              StartsWith("warning: the host waited for cuda:1 in aten::item [device-host-sync]\n"));
}

TEST_F(TextReport, CutsALineOfSourceAroundItsPlace) {
  const std::string line = "0123456789ä123456789日123456789_123456789_123456789";
  std::ofstream(file_, std::ios::trunc) << line << "\n\tx\x1b = 日本 + y;\n";
  const auto excerpt = [&](unsigned number, unsigned column, std::size_t columns) {
    finding_.locations = {{file_, number, column, "step"}};
    const std::string text =
        textReport(std::vector{finding_}, {}, {.terminal = {.columns = columns}});
    const std::size_t begin = text.find(number == 1 ? "    1 | " : "    2 | ");
    return text.substr(begin, text.find('\n', text.find("^", begin)) + 1 - begin);
  };
  EXPECT_EQ(excerpt(1, 1, 28), "    1 | 0123456789ä1234567…\n"
                               "      | ^\n");
  EXPECT_EQ(excerpt(1, 36, 28), "    1 | …6789_123456789_123…\n"
                                "      |        ^\n");
  EXPECT_EQ(excerpt(1, static_cast<unsigned>(line.size()), 28), "    1 | …3456789\n"
                                                                "      |        ^\n");
  EXPECT_EQ(excerpt(1, 36, 0), "    1 | " + line + "\n      | " + std::string(33, ' ') + "^\n");
  EXPECT_EQ(excerpt(2, 16, 80), "    2 |  x\\x1b = 日本 + y;\n"
                                "      |                 ^\n");
}

TEST_F(TextReport, SaysThatThereIsNothingAndWhatWasNotCovered) {
  Summary summary{"devsan run", "./a.out"};
  summary.suppressed = 1;
  summary.notes = {"a.cpp: header 'x.h' not found"};
  EXPECT_EQ(textReport({}, summary), "devsan run: ./a.out: no findings, 1 suppressed\n"
                                     "devsan run: note: a.cpp: header 'x.h' not found\n");
}

} // namespace
} // namespace devsan::core
