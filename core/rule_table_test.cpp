#include "core/rule_table.h"

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

} // namespace
} // namespace devsan::core
