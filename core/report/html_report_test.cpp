#include "core/report/reports.h"
#include "test/support/temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace devsan::core {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string page(const std::vector<Finding> &findings, const Summary &summary = {}) {
  std::ostringstream out;
  writeHtmlReport(out, findings, summary);
  return std::move(out).str();
}

// As a browser takes it: up to the first end of the element.
std::string dataOf(const std::string &page) {
  constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"report\">";
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

Json read(const std::string &page) {
  return Json::parse(dataOf(page));
}

std::string text(const Json &data, const Json &index) {
  return data["strings"][index.get<std::size_t>()];
}

Finding observed(const std::string &file, unsigned line) {
  Finding finding;
  finding.rule = "device-host-sync";
  finding.origin = Origin::kRuntime;
  finding.message = "the host waited";
  finding.locations = {{file, line, 0, "step"}};
  return finding;
}

// A folder of a project with a file, which is the working directory.
class HtmlReport : public testing::Test {
protected:
  HtmlReport() {
    fs::create_directory(folder_ / "project");
    std::ofstream(folder_ / "secret.txt") << "the secret\n";
    std::ofstream source(folder_ / "project" / "train.py");
    for (int i = 1; i <= 40; ++i)
      source << "line " << i << "\n";
    source.close();
    fs::current_path(folder_ / "project");
  }
  ~HtmlReport() override { fs::current_path(before_); }

  fs::path before_ = fs::current_path();
  test::TemporaryFolder temporary_;
  const fs::path &folder_ = temporary_.path();
};

TEST_F(HtmlReport, IsOnePageThatMayRunItsOwnScriptOnly) {
  const std::string text = page({});
  EXPECT_THAT(text, StartsWith("<!doctype html>"));
  EXPECT_THAT(text, EndsWith("</html>\n"));
  EXPECT_THAT(text, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(text, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(text, Not(HasSubstr("src=")));
  EXPECT_THAT(text, Not(HasSubstr("innerHTML")));
  EXPECT_THAT(text, HasSubstr("<noscript>"));
  EXPECT_EQ(read(text)["findings"].size(), 0u);
}

TEST_F(HtmlReport, KeepsWhatComesFromTheProgramInsideTheData) {
  const std::string evil = "</script><!--<script>alert(1)</script> & \x1b[31m \xe2\x80\xae";
  Finding finding = observed(evil, 3);
  finding.message = finding.op = finding.from = evil;
  finding.locations[0].function = evil;
  finding.stack = {{{evil, 3, 0, evil}, evil, true}};
  finding.related = {{{evil, 1, 0, evil}, evil}};
  Summary summary{"devsan run", evil};
  summary.notes = summary.unused_suppressions = summary.stale_baseline = {evil};
  const std::string text = page({finding}, summary);
  EXPECT_THAT(dataOf(text), Not(HasSubstr("<")));
  EXPECT_THAT(dataOf(text), Not(HasSubstr("\x1b")));
  const Json data = read(text);
  EXPECT_EQ(core::text(data, data["findings"][0]["message"]), evil);
  EXPECT_EQ(data["summary"]["subject"], evil);
  EXPECT_EQ(text.find("alert(1)</script>"), std::string::npos);
}

TEST_F(HtmlReport, CutsLongTextAtACharacterAndReplacesWhatIsNoUtf8) {
  Finding finding = observed("train.py", 3);
  finding.message = "x";
  for (int i = 0; i < 300'000; ++i)
    finding.message += "\xe2\x82\xac";
  Json data = read(page({finding}));
  const std::string message = text(data, data["findings"][0]["message"]);
  EXPECT_LT(message.size(), 70'000u);
  EXPECT_THAT(message, EndsWith("\xe2\x82\xac … (900001 bytes)"));
  finding.message = "bad \xff byte";
  data = read(page({finding}));
  EXPECT_EQ(text(data, data["findings"][0]["message"]), "bad \xef\xbf\xbd byte");
}

TEST_F(HtmlReport, ShowsTheLinesAroundAPlace) {
  const Json data =
      read(page({observed("train.py", 2), observed("train.py", 8), observed("train.py", 30)}));
  const Json &source = data["source"];
  ASSERT_EQ(source.size(), 2u); // the first two places share their lines
  EXPECT_EQ(text(data, source[0][0]), "train.py");
  EXPECT_EQ(source[0][1], 1);
  EXPECT_EQ(source[0][2].size(), 12u);
  EXPECT_EQ(source[0][2][1], "line 2");
  EXPECT_EQ(source[1][1], 26);
  EXPECT_EQ(source[1][2].size(), 9u);
}

TEST_F(HtmlReport, ShowsNoLinesFromOutsideOfTheProject) {
  fs::create_symlink("../secret.txt", "link.txt");
  for (const std::string &file :
       {std::string("../secret.txt"), std::string("link.txt"), (folder_ / "secret.txt").string(),
        std::string("/etc/passwd"), std::string("."), std::string("absent.py")}) {
    const std::string text = page({observed(file, 1)});
    EXPECT_EQ(read(text)["source"].size(), 0u) << file;
    EXPECT_THAT(text, Not(HasSubstr("the secret"))) << file;
  }
}

TEST_F(HtmlReport, MarksWhatWasPredictedAndObserved) {
  Finding predicted = observed("train.py", 7);
  predicted.origin = Origin::kStatic;
  Finding elsewhere = predicted;
  elsewhere.rule = "device-bare-cuda";
  const Json data =
      read(page({observed("train.py", 7), observed("train.py", 9), predicted, elsewhere}));
  const Json &findings = data["findings"];
  EXPECT_EQ(findings[0]["other"], 2);
  EXPECT_FALSE(findings[1].contains("other"));
  EXPECT_EQ(findings[2]["other"], 0);
  EXPECT_FALSE(findings[3].contains("other"));
}

TEST_F(HtmlReport, ComparesOperatorsOfALine) {
  Finding waits = observed("train.py", 7), copies = waits;
  waits.op = "aten::item";
  copies.op = "aten::to";
  Finding predicted = copies, unknown = waits;
  predicted.origin = unknown.origin = Origin::kStatic;
  unknown.op = "";
  const Json findings = read(page({waits, copies, predicted, unknown}))["findings"];
  EXPECT_EQ(findings[0]["other"], 2);
  EXPECT_EQ(findings[1]["other"], 2);
  EXPECT_EQ(findings[2]["other"], 1);
  EXPECT_EQ(findings[3]["other"], 0);
}

TEST_F(HtmlReport, SharesCallPaths) {
  const Frame main{{"main.py", 1, 0, "main"}, "", true};
  Finding a = observed("train.py", 1), b = observed("train.py", 2);
  a.stack = {{{"train.py", 1, 0, "step"}, "", true}, main};
  b.stack = {{{"train.py", 2, 0, "step"}, "lib.so", false}, main};
  const Json data = read(page({a, b}));
  // main; its two callees. A path's caller counts from 1, 0 is none.
  ASSERT_EQ(data["paths"].size(), 6u);
  EXPECT_EQ(data["paths"][0], 0);
  EXPECT_EQ(data["paths"][2], 1);
  EXPECT_EQ(data["paths"][4], 1);
  EXPECT_EQ(data["findings"][0]["path"], 2);
  EXPECT_EQ(data["findings"][1]["path"], 3);
  const std::size_t place = data["paths"][5].get<std::size_t>() * 6;
  EXPECT_EQ(text(data, data["places"][place + 4]), "lib.so");
  EXPECT_EQ(data["places"][place + 5], 0);
}

TEST_F(HtmlReport, TellsCostStepsAndRanks) {
  Finding finding = observed("train.py", 7);
  finding.count = 3;
  finding.blocked_ns = 2'000;
  finding.steps = {10, 2, 0, 4, 2};
  finding.ranks = {{0, false, 1, 2, 0, 1'500}, {std::nullopt, true, 1, 1, 0, 500}};
  Summary summary{"devsan run", "train.py"};
  summary.ranks = {0, 1};
  summary.basis = {.simulated = false, .wall_ns = 15'000, .steps = 10};
  const Json found = read(page({finding}, summary))["findings"][0];
  EXPECT_EQ(found["saves"], 1'500);
  EXPECT_EQ(found["measured"], true);
  EXPECT_EQ(found["share"], 0.1);
  EXPECT_EQ(found["perStep"], 150);
  EXPECT_EQ(found["steps"], Json({10, 2, 0, 4, 2}));
  EXPECT_EQ(found["ranks"], Json({{0, 0, 1, 2, 0, 1'500}, {-1, 1, 1, 1, 0, 500}}));
}

} // namespace
} // namespace devsan::core
