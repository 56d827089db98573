#include "core/finding/rule_table.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace devsan::core {
namespace {

TEST(RuleTable, IsSortedAndComplete) {
  EXPECT_TRUE(std::ranges::is_sorted(allRules(), {}, &Rule::id));
  for (const Rule &rule : allRules()) {
    EXPECT_TRUE(rule.id.starts_with("device-")) << rule.id;
    EXPECT_TRUE(rule.on_static || rule.on_runtime) << rule.id;
    EXPECT_FALSE(rule.summary.empty() || rule.remedy.empty() || rule.page.empty()) << rule.id;
    EXPECT_EQ(findRule(rule.id), &rule);
  }
}

TEST(RuleTable, KnowsNoOtherRule) {
  EXPECT_EQ(findRule("device-"), nullptr);
  EXPECT_EQ(findRule("device-zzz"), nullptr);
  EXPECT_EQ(findRule(""), nullptr);
}

TEST(RuleTable, SaysWhichRuleWasMeant) {
  EXPECT_TRUE(
      notARule("device-host-sinc")
          .starts_with("'device-host-sinc' (did you mean 'device-host-sync'?); valid: device-"));
  EXPECT_TRUE(
      notARule("host-sync").starts_with("'host-sync' (did you mean 'device-host-sync'?); "));
  EXPECT_TRUE(
      notARule("warnings", {"note", "warning"})
          .starts_with("'warnings' (did you mean 'warning'?); valid: note, warning, device-"));
  EXPECT_TRUE(notARule("nothing").starts_with("'nothing'; valid: device-"));
}

} // namespace
} // namespace devsan::core
