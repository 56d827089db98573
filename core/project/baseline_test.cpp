#include "core/project/baseline.h"

#include <gmock/gmock.h>

namespace devsan::core {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Finding finding(const char *fingerprint, Severity severity = Severity::kWarning,
                Origin origin = Origin::kRuntime) {
  Finding result;
  result.rule = "device-host-sync";
  result.severity = severity;
  result.origin = origin;
  result.fingerprint = fingerprint;
  result.locations = {{"train.py", 7, 0, "step"}};
  return result;
}

Baseline baselineOf(std::vector<Finding> findings) {
  Baseline baseline;
  baseline.update(findings, Origin::kRuntime);
  return Baseline::parse(baseline.text(), "b.json").value();
}

TEST(Baseline, KnowsWhatItHoldsAndListsWhatIsGone) {
  Baseline baseline = baselineOf({finding("a"), finding("b")});
  std::vector findings{finding("a"), finding("c")};
  baseline.apply(findings);
  EXPECT_TRUE(findings[0].known);
  EXPECT_FALSE(findings[1].known);
  EXPECT_THAT(baseline.stale(Origin::kRuntime),
              ElementsAre("device-host-sync in train.py, function step (b)"));
}

TEST(Baseline, WhatHasBecomeWorseIsNew) {
  Baseline baseline = baselineOf({finding("a")});
  std::vector findings{finding("a", Severity::kError)};
  baseline.apply(findings);
  EXPECT_FALSE(findings[0].known);
  EXPECT_THAT(baseline.stale(Origin::kRuntime), IsEmpty());
  findings[0].severity = Severity::kNote;
  baseline.apply(findings);
  EXPECT_TRUE(findings[0].known);
}

TEST(Baseline, WhatIsGoneStandsByFileFunctionAndStatement) {
  std::vector<Finding> gone;
  for (const auto &[fingerprint, file, function, statement] :
       {std::tuple("a", "train.py", "step", "loss.item();"),
        std::tuple("b", "train.py", "evaluate", "y.cpu();"),
        std::tuple("c", "train.py", "evaluate", "x.cpu();"),
        std::tuple("d", "data.py", "step", "z.item();")}) {
    gone.push_back(finding(fingerprint));
    gone.back().locations = {{file, 1, 1, function}};
    gone.back().statement = statement;
  }
  EXPECT_THAT(baselineOf(gone).stale(Origin::kRuntime),
              ElementsAre(HasSubstr("(d)"), HasSubstr("(c)"), HasSubstr("(b)"), HasSubstr("(a)")));
}

TEST(Baseline, KnowsAPredictionThatJoinedWhatWasObserved) {
  Finding observed = finding("a");
  observed.predicted = {finding("s", Severity::kWarning, Origin::kStatic)};
  Baseline baseline;
  baseline.update(std::vector{observed}, Origin::kRuntime);
  baseline.update(std::vector{observed}, Origin::kStatic);
  baseline = Baseline::parse(baseline.text(), "b.json").value();
  EXPECT_THAT(baseline.text(), HasSubstr("\"s\""));
  baseline.apply({&observed, 1});
  EXPECT_THAT(baseline.stale(Origin::kStatic), IsEmpty());
}

TEST(Baseline, AnUpdateLeavesTheOtherToolsEntries) {
  Baseline baseline = baselineOf({finding("a")});
  const std::vector found{finding("s", Severity::kWarning, Origin::kStatic)};
  baseline.update(found, Origin::kStatic);
  baseline.update({}, Origin::kRuntime);
  EXPECT_THAT(baseline.text(), AllOf(HasSubstr("\"s\""), testing::Not(HasSubstr("\"a\""))));
}

TEST(Baseline, AnUpdateByAPartialRunOnlyAdds) {
  Baseline baseline = baselineOf({finding("a")});
  baseline.update(std::vector{finding("b")}, Origin::kRuntime, nothing);
  EXPECT_THAT(baseline.text(), AllOf(HasSubstr("\"a\""), HasSubstr("\"b\"")));
}

TEST(Baseline, ShowsTheStatementToPeople) {
  Finding found = finding("a");
  found.statement = "    loss.item();\r";
  Baseline baseline = baselineOf({found});
  EXPECT_THAT(baseline.text(), HasSubstr("\"statement\": \"loss.item();\"}"));
  EXPECT_THAT(baseline.stale(Origin::kRuntime),
              ElementsAre("device-host-sync in train.py, function step: loss.item(); (a)"));
  // From a report, which does not hold it.
  baseline.update(std::vector{finding("a")}, Origin::kRuntime);
  EXPECT_THAT(baseline.text(), HasSubstr("\"statement\": \"loss.item();\"}"));
  found.statement = std::string(1000, 'x');
  EXPECT_LT(baselineOf({found}).text().size(), 500U);
}

TEST(Baseline, IsTheSameTextWhateverTheOrder) {
  EXPECT_EQ(baselineOf({finding("a"), finding("b")}).text(),
            baselineOf({finding("b"), finding("a")}).text());
}

TEST(Baseline, ErrorsNameFileLineAndRemedy) {
  const auto error = [](const std::string &text) {
    return Baseline::parse(text, "b.json").error().message;
  };
  EXPECT_THAT(error(""), AllOf(HasSubstr("b.json:1: this is not a baseline of devsan"),
                               HasSubstr("--update-baseline")));
  EXPECT_THAT(error("{\"schema\": \"devsan/1\", \"findings\": []}"),
              HasSubstr("has \"schema\": \"devsan-baseline/1\", which is \"devsan/1\" here"));
  EXPECT_THAT(error("{\"findings\": [\n\n{\"rule\": \"device-host-sync\"}]}"),
              HasSubstr("b.json:3: 'fingerprint' must be a string that is not empty"));
}

} // namespace
} // namespace devsan::core
