#include "core/finding/finding.h"

#include "core/finding/rule_table.h"

#include <algorithm>

namespace devsan::core {

std::string_view name(Severity severity) {
  switch (severity) {
  case Severity::kNote:
    return "note";
  case Severity::kWarning:
    return "warning";
  case Severity::kError:
    return "error";
  }
  return {};
}

std::string_view name(Origin origin) {
  switch (origin) {
  case Origin::kStatic:
    return "static";
  case Origin::kRuntime:
    return "runtime";
  }
  return {};
}

std::optional<Severity> parseSeverity(std::string_view text) {
  for (Severity severity : {Severity::kNote, Severity::kWarning, Severity::kError})
    if (name(severity) == text)
      return severity;
  return std::nullopt;
}

std::string stepsText(const Steps &steps) {
  if (steps.total < 2)
    return {};
  if (steps.seen == 0)
    return "after the last step";
  if (steps.seen >= steps.total)
    return "in every step";
  if (steps.last == 0)
    return "only in the first step";
  // What a loop does once the optimizer has stepped lies in the step that begins there.
  if (steps.first == 1 && steps.last >= steps.total && steps.seen + 1 == steps.total)
    return "after every step";
  return "in " + std::to_string(steps.seen) + " of " + std::to_string(steps.total) + " steps" +
         (steps.last >= steps.total ? " and after the last" : "");
}

bool isInPython(const Finding &finding) {
  const auto user = std::ranges::find(finding.stack, true, &Frame::user);
  if (user != finding.stack.end() && !user->location.function.empty())
    return user->module.empty();
  return !finding.locations.empty() && finding.locations.front().file.ends_with(".py");
}

std::string remedyOf(const Finding &finding) {
  const Rule *rule = findRule(finding.rule);
  if (!finding.remedy.empty() || !rule)
    return finding.remedy;
  return std::string(isInPython(finding) && !rule->remedy_python.empty() ? rule->remedy_python
                                                                         : rule->remedy);
}

std::string fixedBy(const Finding &finding) {
  return finding.caution.empty() ? "devsan check --fix makes this change"
                                 : "devsan check --fix=all makes this change; " + finding.caution;
}

std::string adviceOf(const Finding &finding) {
  std::string remedy = remedyOf(finding);
  if (finding.fix.empty())
    return remedy;
  return (remedy.empty() ? "" : remedy + "; ") + fixedBy(finding);
}

} // namespace devsan::core
