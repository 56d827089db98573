#include "core/finding/rule_table.h"

#include "core/text/suggestion.h"

#include <algorithm>
#include <fmt/format.h>

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

std::string didYouMeanRule(std::string_view id, std::span<const std::string> valid) {
  const std::string meant = didYouMean(id, valid);
  return meant.empty() ? didYouMean("device-" + std::string(id), valid) : meant;
}

std::string notARule(std::string_view id, const std::vector<std::string> &others) {
  std::vector<std::string> valid = others;
  for (const Rule &rule : kRules)
    valid.emplace_back(rule.id);
  return fmt::format("'{}'{}; valid: {}", id, didYouMeanRule(id, valid), fmt::join(valid, ", "));
}

} // namespace devsan::core
