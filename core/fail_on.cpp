#include "core/fail_on.h"

#include "core/rule_table.h"

#include <algorithm>
#include <sstream>

namespace devsan::core {

bool FailOn::covers(const Finding &finding) const {
  if (finding.known)
    return false;
  // A rule's name does not mean its notes: a single read that the program spells out is no bug.
  return (severity && finding.severity >= *severity) ||
         (rules.contains(finding.rule) && finding.severity > Severity::kNote);
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
