#include "analyzer/facts/rule.h"

namespace devsan::analyzer {
namespace {

std::string whatReplacingDoes(const ReplacedPart &part, Program &program) {
  const std::string module = "'" + program.text(part.module) + "'";
  const std::string where =
      part.moved ? " on line " + std::to_string(program.line(part.moved)) : "";
  if (part.loaded)
    return "puts parameters on the device they were saved on, after " + module + " was moved" +
           where + ": pass the device to load(), or call .to(device) afterwards";
  if (part.inner)
    return "replaces a part of " + module + ", which was moved" + where +
           ", and leaves the new part on the CPU: call .to(device) on it";
  return "adds a part on the CPU to " + module + ", which was moved" + where + ": " + module +
         " is on two devices now; call .to(device) on the new part, or on " + module +
         " afterwards";
}

Findings moduleReplacedAfterTo(const FunctionFacts &facts, Program &program) {
  Findings findings;
  for (const ReplacedPart &part : facts.exit.replaced) {
    // Where some path moves the part, the others may be the ones on which nothing has to be moved.
    if (facts.moved_later.contains(part.expr))
      continue;
    RuleFinding finding{.at = part.expr,
                        .message = "'" + program.spelling(part.expr) + "' " +
                                   whatReplacingDoes(part, program),
                        .from = part.loaded ? "" : Place::host().device(),
                        .needs = part.loaded ? Needs::kForeignFile : Needs::kDevice};
    if (const Operation *move = facts.find(Operation::Kind::kMove, part.moved))
      finding.to = move->target.place.device();
    if (part.inner)
      finding.related.push_back({.code = part.inner, .message = "the part is replaced here"});
    if (part.moved)
      finding.related.push_back(
          {.code = part.moved, .message = "'" + program.text(part.module) + "' is moved here"});
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(module_replaced_after_to, moduleReplacedAfterTo)
