#include "core/reports.h"

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
}

TEST(JsonReport, ReplacesBytesThatAreNoUtf8) {
  Finding finding = example();
  finding.message = "bad \xff byte";
  const auto report = nlohmann::json::parse(jsonReport(std::vector{finding}, {}));
  EXPECT_EQ(report["findings"][0]["message"], "bad \xef\xbf\xbd byte");
}

TEST(JsonReport, NamesWhatIsWrongWithAReport) {
  const auto error = [](const std::string &text) {
    return readJsonReport(text, "r.json").error().message;
  };
  EXPECT_THAT(error("{\"schema\": \"devsan/1\", \"findings\": ["),
              HasSubstr("r.json: not a JSON report"));
  EXPECT_THAT(error("[]"), HasSubstr("not a JSON report"));
  EXPECT_THAT(error("{}"), HasSubstr("schema is missing"));
  EXPECT_THAT(error("{\"schema\": \"devsan/9\"}"), HasSubstr("schema \"devsan/9\""));
  EXPECT_THAT(error("{\"schema\": \"devsan/1\", \"findings\": [{\"count\": -1}]}"),
              HasSubstr("'count' must be"));
  EXPECT_THAT(error("{\"schema\": \"devsan/1\", \"findings\": [3]}"),
              HasSubstr("'findings' must be a list of objects"));
  EXPECT_THAT(error("{\"schema\": \"devsan/1\", \"findings\": [{\"severity\": \"fatal\"}]}"),
              HasSubstr("note, warning or error"));
}

} // namespace
} // namespace devsan::core
