#include "core/rule_table.h"

#include <algorithm>

namespace devsan::core {
namespace {

constexpr Rule kRules[] = {
#include "rule_table.inc"
};

} // namespace

std::span<const Rule> allRules() {
  return kRules;
}

const Rule *findRule(std::string_view id) {
  const auto *rule = std::ranges::lower_bound(kRules, id, {}, &Rule::id);
  return rule != std::end(kRules) && rule->id == id ? rule : nullptr;
}

std::string ruleIds() {
  std::string ids;
  for (const Rule &rule : kRules) {
    if (!ids.empty())
      ids += ", ";
    ids += rule.id;
  }
  return ids;
}

} // namespace devsan::core
