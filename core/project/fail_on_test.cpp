#include "core/project/fail_on.h"

#include <gmock/gmock.h>

namespace devsan::core {
namespace {

using testing::HasSubstr;

Finding finding(const char *rule, Severity severity, bool known = false) {
  Finding finding;
  finding.rule = rule;
  finding.severity = severity;
  finding.known = known;
  return finding;
}

bool covers(const char *text, const Finding &finding) {
  return parseFailOn("--fail-on", text).value().covers(finding);
}

TEST(FailOn, TakesTheLeastSeverityAndRules) {
  const Finding warning = finding("device-host-sync", Severity::kWarning);
  EXPECT_TRUE(covers("warning", warning));
  EXPECT_TRUE(covers("error,note", warning));
  EXPECT_FALSE(covers("error", warning));
  EXPECT_TRUE(covers("device-host-sync", warning));
  EXPECT_TRUE(covers("error,device-host-sync", warning));
  EXPECT_FALSE(covers("device-mismatch", warning));
  EXPECT_FALSE(covers("none", warning));
}

TEST(FailOn, LeavesNotesOfARuleAndWhatIsKnown) {
  EXPECT_FALSE(covers("device-host-sync", finding("device-host-sync", Severity::kNote)));
  EXPECT_TRUE(covers("note", finding("device-host-sync", Severity::kNote)));
  EXPECT_FALSE(covers("note", finding("device-host-sync", Severity::kError, true)));
}

TEST(FailOn, LeavesWhatHappenedInsideALibrary) {
  Finding inside = finding("device-mismatch", Severity::kError);
  inside.library = "lightning";
  EXPECT_FALSE(covers("error,device-mismatch", inside));
}

TEST(FailOn, NamesWhatIsWrongAndWhatIsValid) {
  for (const char *text : {"warnings", "", "error,", "none,error", "device-nothing"}) {
    const Result<FailOn> parsed = parseFailOn("--fail-on", text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("--fail-on: unknown rule or severity '"));
    EXPECT_THAT(parsed.error().message, HasSubstr("valid: note, warning, error, none, device-"));
  }
}

} // namespace
} // namespace devsan::core
