#include "core/finding/fingerprint.h"
#include "test/support/temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace devsan::core {
namespace {

class Fingerprint : public testing::Test {
protected:
  std::vector<Finding> findingsAt(std::initializer_list<unsigned> lines) {
    std::vector<Finding> findings;
    for (unsigned line : lines) {
      findings.emplace_back().rule = "device-host-sync";
      findings.back().locations = {{file_, line, 1, "step"}};
    }
    assignFingerprints(findings);
    return findings;
  }
  void write(const std::string &text) { std::ofstream(file_) << text; }

  test::TemporaryFolder folder_;
  std::string file_ = folder_.path() / "fingerprint_test.cpp";
};

TEST_F(Fingerprint, SurvivesMovedLinesAndReformatting) {
  write("a.item();\n");
  const std::string before = findingsAt({1})[0].fingerprint;
  write("// new\n\n  a . item( );\n");
  EXPECT_EQ(findingsAt({3})[0].fingerprint, before);
}

TEST_F(Fingerprint, ChangesWithTheStatement) {
  write("a.item();\nb.item();\n");
  const auto findings = findingsAt({1, 2});
  EXPECT_NE(findings[0].fingerprint, findings[1].fingerprint);
}

TEST_F(Fingerprint, TellsEqualStatementsApartByOrdinal) {
  write("a.item();\na.item();\n");
  const auto findings = findingsAt({1, 2});
  EXPECT_NE(findings[0].fingerprint, findings[1].fingerprint);
  EXPECT_EQ(findings[0].fingerprint, findingsAt({1})[0].fingerprint);
}

TEST_F(Fingerprint, KnowsAStatementThatMovedPastAnother) {
  write("a.item();\nb.item();\n");
  const auto before = findingsAt({1, 2});
  write("c.item();\nb.item();\na.item();\n");
  const auto after = findingsAt({1, 2, 3});
  EXPECT_EQ(after[2].fingerprint, before[0].fingerprint);
  EXPECT_EQ(after[1].fingerprint, before[1].fingerprint);
  EXPECT_NE(after[0].fingerprint, before[0].fingerprint);
  EXPECT_NE(after[0].fingerprint, before[1].fingerprint);
}

TEST_F(Fingerprint, KnowsNothingOfTheCommentAtTheLinesEnd) {
  const auto statementOf = [&](const std::string &line) {
    write(line + "\n");
    return findingsAt({1})[0].statement;
  };
  EXPECT_EQ(statementOf("a.item(); // ask Ann"), "a.item(); ");
  EXPECT_EQ(statementOf("a.item(); /* ask Ann */ "), "a.item(); ");
  EXPECT_EQ(statementOf("f(\"//\", /*b=*/1'000, '\"', \"\\\"//\"); // 1"),
            "f(\"//\", /*b=*/1'000, '\"', \"\\\"//\"); ");
  EXPECT_EQ(statementOf("// a.item()"), "// a.item()");
  EXPECT_EQ(statementOf("a[i] # b"), "a[i] # b");
  write("a.item();\n");
  const std::string before = findingsAt({1})[0].fingerprint;
  write("a.item(); // ask Ann\n");
  EXPECT_EQ(findingsAt({1})[0].fingerprint, before);
  file_ = folder_.path() / "train.py";
  EXPECT_EQ(statementOf("a.item()  # ask Ann"), "a.item()  ");
  EXPECT_EQ(statementOf("a(f'b#')  # 1"), "a(f'b#')  ");
  EXPECT_EQ(statementOf("f('#', \"\"\"#\"\"\", b // 2)  # 1"), "f('#', \"\"\"#\"\"\", b // 2)  ");
}

TEST_F(Fingerprint, ToleratesAFileThatIsGone) {
  EXPECT_EQ(findingsAt({1})[0].fingerprint.size(), 16u);
}

} // namespace
} // namespace devsan::core
