// The rules, generated from the rule.md files at build time: the only place that knows a rule's
// severity and summary.
#pragma once

#include "core/finding/finding.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::core {

struct Rule {
  std::string_view id;
  Severity severity;
  bool on_static;
  bool on_runtime;
  bool simulated_only; // at run time
  std::string_view summary;
  std::string_view remedy;
  std::string_view remedy_python; // for findings in Python; empty: the same
  std::string_view page;
};

// Sorted by id.
std::span<const Rule> allRules();

// Null where no rule has that id.
const Rule *findRule(std::string_view id);

// As didYouMean(), of a rule that may lack its prefix.
std::string didYouMeanRule(std::string_view id, std::span<const std::string> valid);

// "'device-host-sinc' (did you mean 'device-host-sync'?); valid: device-bare-cuda, …": for messages
// about a rule that does not exist; `others` are valid beside the rules.
std::string notARule(std::string_view id, const std::vector<std::string> &others = {});

} // namespace devsan::core
