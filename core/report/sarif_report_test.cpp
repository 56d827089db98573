#include "core/report/reports.h"
#include "test/support/temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace devsan::core {
namespace {

using Json = nlohmann::json;

class SarifReport : public testing::Test {
protected:
  SarifReport() {
    std::ofstream(file_) << "int a;\n/* \xc3\xa4 */ x.cuda();\n";
    finding_.rule = "device-bare-cuda";
    finding_.message = "which device";
    finding_.fingerprint = "0123456789abcdef";
    finding_.locations = {{file_, 2, 12, "user::f"}};
  }
  Json run(const Summary &summary = {"devsan check", "1 file"}) {
    return Json::parse(sarifReport(std::vector{finding_}, summary))["runs"][0];
  }
  Json result() { return run()["results"][0]; }

  test::TemporaryFolder folder_;
  std::string file_ = folder_.path() / "sarif report_test.cpp";
  Finding finding_;
};

TEST_F(SarifReport, HoldsTheRulesThatItsResultsName) {
  const Json driver = run()["tool"]["driver"];
  ASSERT_EQ(driver["rules"].size(), 1u);
  EXPECT_EQ(driver["rules"][0]["id"], "device-bare-cuda");
  EXPECT_EQ(driver["rules"][0]["defaultConfiguration"]["level"], "warning");
  EXPECT_FALSE(driver["rules"][0]["help"]["markdown"].get<std::string>().empty());
  EXPECT_EQ(result()["ruleIndex"], 0);
}

TEST_F(SarifReport, CountsColumnsInCharacters) {
  const Json region = result()["locations"][0]["physicalLocation"]["region"];
  EXPECT_EQ(region["startLine"], 2);
  EXPECT_EQ(region["startColumn"], 11);
  EXPECT_EQ(region["snippet"]["text"], "/* \xc3\xa4 */ x.cuda();");
}

TEST_F(SarifReport, PathsAreUrisAndRelativeOnesBelongToTheRepository) {
  const auto artifact = [&] {
    return result()["locations"][0]["physicalLocation"]["artifactLocation"];
  };
  EXPECT_THAT(artifact()["uri"].get<std::string>(), testing::EndsWith("sarif%20report_test.cpp"));
  EXPECT_THAT(artifact()["uri"].get<std::string>(), testing::StartsWith("file:///"));
  finding_.locations[0].file = "src/100%.cpp";
  EXPECT_EQ(artifact()["uri"], "src/100%25.cpp");
  EXPECT_EQ(artifact()["uriBaseId"], "%SRCROOT%");
}

TEST_F(SarifReport, AFixIsAnEditOfLinesAndColumns) {
  finding_.fix = {{file_, 21, 2, "d"}};
  const Json change = result()["fixes"][0]["artifactChanges"][0]["replacements"][0];
  EXPECT_EQ(change["deletedRegion"],
            Json({{"startLine", 2}, {"startColumn", 14}, {"endLine", 2}, {"endColumn", 16}}));
  EXPECT_EQ(change["insertedContent"]["text"], "d");
  finding_.fix = {{file_, 1000, 2, "d"}}; // the file has changed since
  EXPECT_FALSE(result().contains("fixes"));
}

TEST_F(SarifReport, KnowsFingerprintsAndTheBaseline) {
  EXPECT_EQ(result()["partialFingerprints"]["devsan/v1"], "0123456789abcdef");
  EXPECT_FALSE(result().contains("baselineState"));
  finding_.known = true;
  EXPECT_EQ(result()["baselineState"], "unchanged");
}

TEST_F(SarifReport, NotesAreNotifications) {
  const Json notes = run({.tool = "devsan check",
                          .subject = "1 file",
                          .notes = {"a.cpp: no"}})["invocations"][0]["toolExecutionNotifications"];
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0]["message"]["text"], "a.cpp: no");
}

} // namespace
} // namespace devsan::core
