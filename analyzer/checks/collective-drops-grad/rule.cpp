#include "analyzer/facts/rule.h"
#include "analyzer/facts/operators.h"
#include "analyzer/facts/text.h"

#include <algorithm>

namespace devsan::analyzer {
namespace {

class CollectiveDropsGrad {
public:
  CollectiveDropsGrad(const FunctionFacts &facts, Program &program)
      : facts_(facts), program_(program) {}

  Findings judge() {
    for (const Operation &operation : facts_.operations) {
      if (operation.kind == Operation::Kind::kTensorOp && combines(operation.name))
        examineCombination(operation);
      else if (operation.kind == Operation::Kind::kReturn)
        for (const Operand &operand : operation.operands)
          if (const Code gather = lostGraph(operand.value))
            report(gather, operation.expr, "handed on here", operand.value.place, "");
    }
    return std::move(findings_);
  }

private:
  static bool combines(std::string_view name) {
    static const Names kCombines{
        "cat", "concat",    "concatenate", "stack", "hstack",    "vstack", "sum",       "mean",
        "add", "operator+", "operator+=",  "add_",  "max",       "min",    "logsumexp", "matmul",
        "mm",  "einsum",    "operator*",   "mul",   "operator-", "sub"};
    return kCombines.contains(name);
  }

  // Gathered, with nothing among it that carries the graph.
  static Code lostGraph(const Value &value) {
    return value.own_slice || value.no_grad ? nullptr : value.origin(Origin::Kind::kGather);
  }

  void examineCombination(const Operation &operation) {
    Code gather;
    Place place;
    for (const Operand &operand : operation.operands) {
      const Code lost = lostGraph(operand.value);
      // An operand with a graph of its own is the own slice, or a loss of its own.
      if (!lost && !operand.value.no_grad)
        return;
      if (lost) {
        gather = lost;
        place = operand.value.place;
      }
    }
    if (gather)
      report(gather, operation.expr, "combined here", place, program_.operatorName(operation.expr));
  }

  void report(Code gather, Code use, std::string how, const Place &place, std::string op) {
    const Operation *call = facts_.find(Operation::Kind::kGather, gather);
    if (!call || program_.isWithoutGrad(gather) || program_.isWithoutGrad(use) || !escapes(gather))
      return;
    findings_.push_back(
        {.at = gather,
         .message = fill("'{}' gathers tensors without their autograd graph, and they are used "
                         "without the own slice among them: no gradient flows back; put the own "
                         "tensor back at the own rank first",
                         {call->name}),
         .op = std::move(op),
         .from = place.device(),
         .related = {{.code = use, .message = std::move(how)}},
         .fix = program_.putOwnBack(gather)});
  }

  // What was gathered leaves the function, or meets other tensors or a module there.
  bool escapes(Code gather) {
    const auto carries = [&](const Value &value) {
      return std::ranges::count(value.origins, Origin{Origin::Kind::kGather, gather}) > 0;
    };
    return std::ranges::any_of(facts_.operations, [&](const Operation &operation) {
      switch (operation.kind) {
      case Operation::Kind::kReturn:
      case Operation::Kind::kModule:
        return std::ranges::any_of(operation.operands,
                                   [&](const Operand &operand) { return carries(operand.value); });
      case Operation::Kind::kAssign:
        return operation.path && carries(operation.result) &&
               (!operation.path->root || program_.role(operation.path->root) != Role::kLocal);
      case Operation::Kind::kTensorOp:
        return operation.name == "backward" && !operation.operands.empty() &&
               carries(operation.operands.front().value);
      case Operation::Kind::kMove:
      case Operation::Kind::kFactory:
      case Operation::Kind::kGather:
      case Operation::Kind::kCall:
      case Operation::Kind::kLaunch:
      case Operation::Kind::kWait:
        return false;
      }
      return false;
    });
  }

  const FunctionFacts &facts_;
  Program &program_;
  Findings findings_;
};

Findings collectiveDropsGrad(const FunctionFacts &facts, Program &program) {
  return CollectiveDropsGrad(facts, program).judge();
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(collective_drops_grad, collectiveDropsGrad)
