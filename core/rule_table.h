// The rules, generated from the rule.md files at build time: the only place that knows a rule's
// severity and summary.
#pragma once

#include "core/finding.h"

#include <span>
#include <string>
#include <string_view>

namespace devsan::core {

struct Rule {
  std::string_view id;
  Severity severity;
  bool on_static;
  bool on_runtime;
  bool simulated_only; // at run time
  std::string_view summary;
  std::string_view remedy;
  std::string_view page;
};

// Sorted by id.
std::span<const Rule> allRules();

// Null where no rule has that id.
const Rule *findRule(std::string_view id);

// "device-bare-cuda, device-cpu-round-trip, …": for messages that list what is valid.
std::string ruleIds();

} // namespace devsan::core
