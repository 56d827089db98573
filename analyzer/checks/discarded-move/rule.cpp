#include "analyzer/facts/rule.h"

#include <algorithm>

namespace devsan::analyzer {
namespace {

// Tensor::to() moves nothing, unlike Module::to(): whoever drops its result has moved nothing.
class DiscardedMove {
public:
  DiscardedMove(const FunctionFacts &facts, Program &program) : facts_(facts), program_(program) {}

  Findings judge() {
    for (const Operation &operation : facts_.operations)
      // Modules are moved without operands. `torch::zeros({1}).to(device);` wakes the device up.
      if (operation.kind == Operation::Kind::kMove && !operation.operands.empty() &&
          !program_.isTemporary(operation.receiver) && program_.isDiscarded(operation.expr))
        discarded_.push_back(&operation);
    Findings findings;
    for (const Operation *move : discarded_) {
      if (isWarmupOnly(*move) || isThere(*move))
        continue;
      const Place &place = move->operands.front().value.place;
      RuleFinding finding{.at = move->expr,
                          .message =
                              "'" + program_.spelling(move->expr) +
                              "' moves nothing in place: the tensor that it returns is discarded",
                          .op = program_.operatorName(move->expr),
                          .from = place.device(),
                          .to = move->target.place.device(),
                          .fix = program_.assignBack(move->expr),
                          .needs = Needs::kDevice};
      // What is there already need not be moved.
      if (move->target.place.onHost())
        finding.holder = program_.holder(facts_, move->expr, place);
      findings.push_back(std::move(finding));
    }
    return findings;
  }

private:
  // The tensor lies on that device, and nothing else is asked for: a device without an index may be
  // another one by now, options and tensors have a dtype.
  bool isThere(const Operation &move) {
    const Place &place = move.operands.front().value.place, &target = move.target.place;
    const bool is_told = place.is(Place::Kind::kOf) || place.is(Place::Kind::kFixed);
    if (!(place.onHost() && target.onHost()) && !(is_told && place == target))
      return false;
    const std::vector<Code> arguments = program_.arguments(move.expr);
    if (arguments.size() != 1)
      return arguments.empty(); // x.cpu()
    // Options are made of it on the way.
    const std::vector<Code> made_of =
        program_.receiver(arguments[0]) ? std::vector<Code>() : program_.arguments(arguments[0]);
    const Code device = made_of.size() == 1 ? made_of[0] : arguments[0];
    const Type type = program_.type(device);
    return type == Type::kDevice || (type == Type::kDeviceType && place.onHost());
  }

  // A tensor that is made here for nothing but such moves: the first use of a device, or a
  // measurement.
  bool isWarmupOnly(const Operation &move) {
    const Variable variable = program_.variable(move.receiver);
    if (program_.role(variable) != Role::kLocal)
      return false;
    const Code made = program_.initialiser(variable);
    return made && facts_.find(Operation::Kind::kFactory, made) &&
           std::ranges::count_if(discarded_, [&](const Operation *other) {
             return program_.variable(other->receiver) == variable;
           }) == program_.mentions(facts_.function, variable);
  }

  const FunctionFacts &facts_;
  Program &program_;
  std::vector<const Operation *> discarded_;
};

Findings discardedMove(const FunctionFacts &facts, Program &program) {
  return DiscardedMove(facts, program).judge();
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(discarded_move, discardedMove)
