#include "analyzer/facts/rule.h"

namespace devsan::analyzer {
namespace {

// Written down, or that of a device variable: not that of another tensor, which may be anywhere,
// nor of a parameter: that of a function that reads the tensor itself is the host more often than
// not.
bool isOnKnownDevice(const Place &place, Program &program) {
  if (place.isSpelledDevice())
    return true;
  if (!place.is(Place::Kind::kOf) || !place.of.last())
    return false;
  const Role role = program.role(place.of.last());
  return program.type(place.of.last()) == Type::kDevice && role != Role::kParameter &&
         role != Role::kLambdaParameter;
}

// A tensor that the caller gave, and nothing in the function says where it is.
bool isUncheckedParameter(const Place &place, const std::optional<Path> &tensor, Program &program) {
  return place.is(Place::Kind::kOf) && place.of.fields.empty() && place.of == tensor &&
         program.role(place.of.root) == Role::kParameter;
}

Findings hostAccess(const FunctionFacts &facts, Program &program) {
  Findings findings;
  for (const HostRead &read : program.hostReads(facts.function)) {
    const Value value = facts.value(read.tensor);
    const Place &place = value.place;
    const bool known = isOnKnownDevice(place, program);
    const std::string where =
        known                               ? "is on " + program.text(place)
        : value.off_host && !place.onHost() ? "was checked to be on a device"
        : isUncheckedParameter(place, facts.path(read.tensor), program) && program.followsDevices()
            ? "may be on a device"
            : "";
    if (where.empty())
      continue;
    RuleFinding finding{.at = read.pointer,
                        .message = "the host follows a pointer into '" +
                                   program.spelling(read.tensor) + "', which " + where,
                        .from = known ? place.device() : "",
                        .to = Place::host().device(),
                        .needs = Needs::kDevice};
    if (program.line(read.access) != program.line(read.pointer))
      finding.related.push_back({.code = read.access, .message = "followed here"});
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(host_access, hostAccess)
