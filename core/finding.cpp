#include "core/finding.h"

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

} // namespace devsan::core
