#include "analyzer/facts/rule.h"
#include "analyzer/facts/text.h"

namespace devsan::analyzer {
namespace {

Findings cpuRoundTrip(const FunctionFacts &facts, Program &program) {
  Findings findings;
  for (const Operation &move : facts.operations) {
    if (move.kind != Operation::Kind::kMove || move.operands.empty())
      continue;
    const Value &moved = move.operands.front().value;
    const Code there = moved.origin(Origin::Kind::kHostCopy);
    const Place &target = move.target.place;
    // What came from the host anyway, or goes to a place that may be the host, is no round trip for
    // sure.
    if (!there || !moved.place.onHost() || target.onHost() || target.is(Place::Kind::kNone))
      continue;
    const Operation *copy = facts.find(Operation::Kind::kMove, there);
    const unsigned line = program.line(there);
    findings.push_back(
        {.at = move.expr,
         .message =
             fill("'{}' goes back to {} after the data was copied to the CPU{}: both copies "
                  "make the host wait; compute on the device, or move once and stay",
                  {program.spelling(move.receiver),
                   target.isUnknown() ? "a device" : program.text(target),
                   line == program.line(move.expr) ? "" : " on line " + std::to_string(line)}),
         .op = program.operatorName(move.expr),
         .from = copy ? copy->operands.front().value.place.device() : "",
         .to = target.device(),
         .related = {{.code = there, .message = "copied to the CPU here"}},
         .needs = Needs::kDevice});
  }
  return findings;
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(cpu_round_trip, cpuRoundTrip)
