#include "core/report/reports.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace devsan::core {
namespace {

using testing::HasSubstr;

Finding example() {
  Finding finding;
  finding.rule = "device-host-sync";
  finding.severity = Severity::kNote;
  finding.origin = Origin::kRuntime;
  finding.message = "the host waited";
  finding.fingerprint = "0123456789abcdef";
  finding.count = 3;
  finding.bytes = 12;
  finding.blocked_ns = 4000;
  finding.from = "cuda:1";
  finding.to = "cpu";
  finding.op = "aten::_local_scalar_dense";
  finding.steps = {9, 2, 1, 4, 2};
  finding.loads = {{(std::uint64_t{1} << 53) - 1, 1, 4, 2}};
  finding.thread = 77;
  finding.rank = 1;
  finding.locations = {{"train.cpp", 7, 3, "step"}};
  finding.stack = {{{"train.cpp", 7, 3, "step"}, "train", true},
                   {{"", 0, 0, "main"}, "train", false}};
  finding.related = {{{"model.cpp", 2, 1, "build"}, "made here"}};
  finding.fix = {{"train.cpp", 100, 5, ".cpu()"}};
  return finding;
}

TEST(JsonReport, HoldsTheContractsFields) {
  Summary summary;
  summary.suppressed = 2;
  const auto report = nlohmann::json::parse(jsonReport(std::vector{example()}, summary));
  EXPECT_EQ(report["schema"], "devsan/1");
  EXPECT_EQ(report["summary"]["suppressed"], 2);
  const auto &finding = report["findings"][0];
  for (const char *key :
       {"rule", "severity", "origin", "message", "fingerprint", "count", "bytes", "blocked_ns",
        "from", "to", "op", "thread", "rank", "locations", "stack", "related", "fix"})
    EXPECT_TRUE(finding.contains(key)) << key;
  EXPECT_EQ(
      finding["locations"][0],
      nlohmann::json({{"file", "train.cpp"}, {"line", 7}, {"column", 3}, {"function", "step"}}));
}

TEST(JsonReport, ReadsBackWhatItWrote) {
  const std::string text = jsonReport(std::vector{example()}, {});
  const auto read = readJsonReport(text, "report.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(jsonReport(*read, {}), text);
  EXPECT_EQ(read->at(0).loads, example().loads);
}

// Else reports made of reports would say the rule's remedy as if it were the finding's own.
TEST(JsonReport, TellsTheRulesRemedyFromTheFindings) {
  std::vector findings{example(), example()};
  findings[1].remedy = "keep it there";
  const auto read = readJsonReport(jsonReport(findings, {}), "report.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at(0).remedy, "");
  EXPECT_EQ(read->at(1).remedy, "keep it there");
}

TEST(JsonReport, ReplacesBytesThatAreNoUtf8) {
  Finding finding = example();
  finding.message = "bad \xff byte";
  const auto report = nlohmann::json::parse(jsonReport(std::vector{finding}, {}));
  EXPECT_EQ(report["findings"][0]["message"], "bad \xef\xbf\xbd byte");
}

TEST(JsonReport, ReadsItsSummaryBack) {
  Summary summary;
  summary.tool = "devsan run";
  summary.subject = "./train";
  summary.suppressed = 3;
  summary.unused_suppressions = {"device-host-sync = a.cpp"};
  summary.stale_baseline = {"device-host-sync in b.cpp"};
  summary.notes = {"a note"};
  summary.ranks = {0, 1};
  summary.basis = {true, 5, 7};
  summary.partial = true;
  summary.step_times = {
      {1, true, 1'764'000'000'000'000, 3, 900, {{0, 0, 500, 1}, {2, 800, 100, 2}}},
      {std::nullopt, false, 7, 1, 5, {{0, 0, 5, 0}}}};
  const std::string text = jsonReport({}, summary);
  const auto read = readReport(text, "report.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(jsonReport({}, read->summary), text);
  EXPECT_EQ(read->summary.basis, summary.basis);
}

TEST(JsonReport, TellsTheCostAndTheRanks) {
  Finding finding = example();
  finding.ranks = {{0, false, 1, 1, 4, 1000}, {1, true, 2, 2, 8, 3000}};
  Summary summary;
  summary.basis.wall_ns = 6000;
  const auto report = nlohmann::json::parse(jsonReport(std::vector{finding}, summary));
  const auto &cost = report["findings"][0]["cost"];
  EXPECT_EQ(cost["measured"], true);
  EXPECT_EQ(cost["saves_ns"], 1500);
  EXPECT_DOUBLE_EQ(cost["share_of_run"], 0.25);
  EXPECT_EQ(report["findings"][0]["ranks"][1], nlohmann::json({{"rank", 1},
                                                               {"worker", true},
                                                               {"processes", 2},
                                                               {"count", 2},
                                                               {"bytes", 8},
                                                               {"blocked_ns", 3000}}));
}

struct Bad {
  std::string text;
  std::string message;
};

Bad badFinding(const std::string &field, const std::string &message) {
  return {"{\"schema\": \"devsan/1\",\n\"findings\": [\n{\"rule\": \"r\", " + field + "}]}",
          message};
}

class BadReport : public testing::TestWithParam<Bad> {};

TEST_P(BadReport, IsNamedWithLineAndValidForms) {
  const auto report = readReport(GetParam().text, "r.json");
  ASSERT_FALSE(report) << GetParam().text;
  EXPECT_THAT(report.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Reports, BadReport,
    testing::Values(
        Bad{"", "r.json:1: this is not a JSON report of devsan, or it is cut off"},
        Bad{"[]", "this is not a JSON report of devsan"},
        Bad{"{\"schema\": \"devsan/1\",\n\"findings\": [", "r.json:2: this is not a JSON report"},
        Bad{"{\"schema\": \"devsan/1\"}\nrest", "r.json:2: this is not a JSON report"},
        Bad{"{}", "has \"schema\": \"devsan/1\", which is missing here"},
        Bad{"{\"schema\": 1}", "has \"schema\": \"devsan/1\", which is missing here"},
        Bad{"{\"schema\": \"devsan/9\"}", "which is \"devsan/9\" here"},
        Bad{"{\"schema\": \"devsan/1\", \"findings\": 3}", "'findings' must be a list of objects"},
        Bad{"{\"schema\": \"devsan/1\", \"findings\": {\"a\": {}}}",
            "'findings' must be a list of objects"},
        Bad{"{\"schema\": \"devsan/1\", \"findings\":\n[3]}",
            "r.json:2: 'findings' must be a list of objects"},
        Bad{"{\"schema\": \"devsan/1\", \"findings\": [{}]}",
            "'rule' must be a string that is not empty"},
        Bad{"{\"schema\": \"devsan/1\", \"summary\": {\"suppressed\": \"no\"}}",
            "r.json: 'suppressed' must be a number from 0"},
        Bad{"{\"schema\": \"devsan/1\", \"summary\": {\"cost\": {\"blocked_time\": \"?\"}}}",
            "'blocked_time' must be measured or simulated"},
        Bad{"{\"schema\": \"devsan/1\", \"summary\": {\"step_times\": [{\"columns\": [{\"step\": "
            "-1}]}]}}",
            "'step' must be a number from 0"},
        badFinding("\"count\": -1", "r.json:3: 'count' must be a number from 0"),
        badFinding("\"count\": 1e3", "r.json:3: 'count' must be a number from 0"),
        badFinding("\"message\": 1", "r.json:3: 'message' must be a string"),
        badFinding("\"severity\": \"fatal\"", "'severity' must be note, warning or error"),
        badFinding("\"origin\": \"both\"", "'origin' must be static or runtime"),
        badFinding("\"rank\": -2", "'rank' must be a number from 0, or null"),
        badFinding("\"rank\": 1.5", "'rank' must be a number from 0, or null"),
        badFinding("\"ranks\": [{\"worker\": 1}]", "'worker' must be true or false"),
        badFinding("\"locations\": [{\"line\": 4294967296}]", "'line' must be a number from 0"),
        badFinding("\"stack\": {}", "'stack' must be a list of objects")));

} // namespace
} // namespace devsan::core
