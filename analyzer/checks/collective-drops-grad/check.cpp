#include "analyzer/check_registry.h"
#include "analyzer/support/device_check.h"

#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

namespace {

using namespace clang;

class CollectiveDropsGradCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

protected:
  void examine(const FunctionFacts &facts) override {
    for (const Operation &operation : facts.operations) {
      if (operation.kind == Operation::Kind::kTensorOp && combines(operation.name))
        examineCombination(facts, operation);
      else if (operation.kind == Operation::Kind::kReturn)
        examineReturn(facts, operation);
    }
  }

private:
  static bool combines(llvm::StringRef name) {
    static const llvm::StringSet<> kCombines{
        "cat", "concat",    "concatenate", "stack", "hstack",    "vstack", "sum",       "mean",
        "add", "operator+", "operator+=",  "add_",  "max",       "min",    "logsumexp", "matmul",
        "mm",  "einsum",    "operator*",   "mul",   "operator-", "sub"};
    return kCombines.contains(name);
  }

  // Gathered, with nothing among it that carries the graph.
  static const Expr *lostGraph(const Value &value) {
    return value.own_slice || value.no_grad ? nullptr : value.origin(Origin::Kind::kGather);
  }

  void examineCombination(const FunctionFacts &facts, const Operation &operation) {
    const Expr *gather = nullptr;
    for (const Operand &operand : operation.operands) {
      const Expr *lost = lostGraph(operand.value);
      // An operand with a graph of its own is the own slice, or a loss of its own.
      if (!lost && !operand.value.no_grad)
        return;
      gather = lost ? lost : gather;
    }
    if (gather)
      report(facts, gather, operation.expr, "combined here");
  }

  void examineReturn(const FunctionFacts &facts, const Operation &operation) {
    for (const Operand &operand : operation.operands)
      if (const Expr *gather = lostGraph(operand.value))
        report(facts, gather, operation.expr, "handed on here");
  }

  void report(const FunctionFacts &facts, const Expr *gather, const Expr *use,
              llvm::StringRef how) {
    if (model().gradOff(gather) || model().gradOff(use) || !escapes(facts, gather) ||
        !firstAt(gather))
      return;
    diag(locationOf(gather),
         "'%0' gathers tensors without their autograd graph, and they are used without the own "
         "slice "
         "among them: no gradient flows back; put the own tensor back at the own rank first")
        << nameOf(calleeOf(gather)) << gather->getSourceRange();
    diag(locationOf(use), how, DiagnosticIDs::Note) << use->getSourceRange();
  }

  // What was gathered leaves the function, or meets other tensors or a module there.
  static bool escapes(const FunctionFacts &facts, const Expr *gather) {
    auto carries = [&](const Value &value) {
      return llvm::is_contained(value.origins, Origin{Origin::Kind::kGather, gather});
    };
    return llvm::any_of(facts.operations, [&](const Operation &operation) {
      switch (operation.kind) {
      case Operation::Kind::kReturn:
      case Operation::Kind::kModule:
        return llvm::any_of(operation.operands,
                            [&](const Operand &operand) { return carries(operand.value); });
      case Operation::Kind::kAssign: {
        const auto *variable =
            operation.path ? dyn_cast_or_null<VarDecl>(operation.path->root) : nullptr;
        bool outlives =
            operation.path && (!operation.path->root || !variable || !variable->isLocalVarDecl());
        return outlives && carries(operation.result);
      }
      case Operation::Kind::kTensorOp:
        return operation.name == "backward" && !operation.operands.empty() &&
               carries(operation.operands.front().value);
      case Operation::Kind::kMove:
      case Operation::Kind::kFactory:
      case Operation::Kind::kGather:
      case Operation::Kind::kCall:
      case Operation::Kind::kWait:
        return false;
      }
      return false;
    });
  }
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(CollectiveDropsGradCheck, collective_drops_grad)
