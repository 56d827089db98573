#include "core/project/fail_on.h"

#include "core/finding/rule_table.h"
#include "core/text/quantities.h"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

namespace devsan::core {

bool FailOn::covers(const Finding &finding) const {
  if (finding.known || !finding.library.empty())
    return false;
  // A rule's name does not mean its notes: a single read that the program spells out is no bug.
  return (severity && finding.severity >= *severity) ||
         (rules.contains(finding.rule) && finding.severity > Severity::kNote);
}

std::vector<std::string> FailOn::reasons(std::span<const Finding> findings) const {
  std::map<Severity, std::size_t, std::greater<>> by_severity;
  std::map<std::string, std::size_t> by_rule;
  for (const Finding &finding : findings) {
    if (!covers(finding))
      continue;
    if (severity && finding.severity >= *severity)
      ++by_severity[finding.severity];
    else
      ++by_rule[finding.rule];
  }
  std::vector<std::string> result;
  for (const auto &[one, count] : by_severity)
    result.push_back(countText(count, name(one)));
  for (const auto &[rule, count] : by_rule)
    result.push_back(std::to_string(count) + " " + rule);
  return result;
}

Result<FailOn> parseFailOn(const std::string &name, const std::string &text) {
  FailOn fail_on;
  std::istringstream items(text + ","); // so that an empty last item counts
  for (std::string item; std::getline(items, item, ',');) {
    if (std::optional<Severity> severity = parseSeverity(item))
      fail_on.severity = std::min(fail_on.severity.value_or(*severity), *severity);
    else if (findRule(item))
      fail_on.rules.insert(item);
    else if (item != "none" || text != "none")
      return failure(name + ": unknown rule or severity " +
                     notARule(item, {"note", "warning", "error", "none"}));
  }
  return fail_on;
}

} // namespace devsan::core
