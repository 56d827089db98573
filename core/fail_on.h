// What `--fail-on` names: the findings that make a command fail.
#pragma once

#include "core/finding.h"
#include "core/result.h"

#include <optional>
#include <set>
#include <string>

namespace devsan::core {

struct FailOn {
  std::optional<Severity> severity; // any at or above it
  std::set<std::string, std::less<>> rules;

  // Known findings never count.
  bool covers(const Finding &finding) const;
};

// "warning,device-mismatch", "none". `name` is what holds the text: an option or a key of the
// project file.
Result<FailOn> parseFailOn(const std::string &name, const std::string &text);

} // namespace devsan::core
