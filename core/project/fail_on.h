// What `--fail-on` names: the findings that make a command fail.
#pragma once

#include "core/finding/finding.h"
#include "core/system/result.h"

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace devsan::core {

struct FailOn {
  std::optional<Severity> severity; // any at or above it
  std::set<std::string, std::less<>> rules;

  // Known findings never count, and none that happened inside a library.
  bool covers(const Finding &finding) const;
  // What of the findings fails: "2 errors", "1 warning", "3 device-host-sync".
  std::vector<std::string> reasons(std::span<const Finding> findings) const;
};

// "warning,device-mismatch", "none". `name` is what holds the text: an option or a key of the
// project file.
Result<FailOn> parseFailOn(const std::string &name, const std::string &text);

} // namespace devsan::core
