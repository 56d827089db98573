#include "command/commands.h"
#include "core/finding/rule_table.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace devsan::command {
namespace {

std::vector<std::string> origins(const core::Rule &rule) {
  std::vector<std::string> names;
  if (rule.on_static)
    names.emplace_back(core::name(core::Origin::kStatic));
  if (rule.on_runtime)
    names.emplace_back(core::name(core::Origin::kRuntime));
  return names;
}

std::string originsText(const core::Rule &rule) {
  std::string text;
  for (const std::string &origin : origins(rule))
    text += (text.empty() ? "" : ", ") + origin;
  return text;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  result.resize(std::max(width, result.size()), ' ');
  return result;
}

} // namespace

int printRules(const std::string &format) {
  if (format == "json") {
    nlohmann::ordered_json rules = nlohmann::ordered_json::array();
    for (const core::Rule &rule : core::allRules())
      rules.push_back({{"id", rule.id},
                       {"severity", core::name(rule.severity)},
                       {"origins", origins(rule)},
                       {"summary", rule.summary},
                       {"remedy", rule.remedy}});
    print(rules.dump(2) + "\n");
    return kSuccess;
  }
  if (format != "text")
    return fail("unknown format '" + format + "'; valid: text, json");
  std::size_t width = 0;
  for (const core::Rule &rule : core::allRules())
    width = std::max(width, rule.id.size());
  for (const core::Rule &rule : core::allRules())
    print(padded(rule.id, width + 2) + padded(core::name(rule.severity), 9) +
          padded(originsText(rule), 17) + std::string(rule.summary) + "\n");
  return kSuccess;
}

int explainRule(const std::string &id) {
  const core::Rule *rule = core::findRule(id);
  if (!rule)
    rule = core::findRule("device-" + id);
  if (!rule)
    return fail("unknown rule " + core::notARule(id));
  print(std::string(rule->id) + " (" + std::string(core::name(rule->severity)) + "; found " +
        originsText(*rule) + (rule->simulated_only ? " with --sim" : "") + ")\n  " +
        std::string(rule->summary) + "\n  remedy: " + std::string(rule->remedy) + "\n\n" +
        std::string(rule->page));
  return kSuccess;
}

} // namespace devsan::command
