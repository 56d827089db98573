#include "analyzer/ast/operator_name.h"
#include "analyzer/ast/unresolved_code.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/device_check.h"

namespace devsan::analyzer {

namespace {

using namespace clang;

// Tensor::to() moves nothing, unlike Module::to(): whoever drops its result has moved nothing.
class DiscardedMoveCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

protected:
  void examine(const FunctionFacts &facts) override {
    llvm::SmallVector<const Operation *, 2> discarded;
    for (const Operation &operation : facts.operations)
      // Modules are moved without operands.
      if (operation.kind == Operation::Kind::kMove && !operation.operands.empty() &&
          isNamed(operation.receiver) && isDiscarded(operation.expr))
        discarded.push_back(&operation);
    for (const Operation *move : discarded)
      if (!isWarmupOnly(facts, move->receiver, discarded) && firstAt(move->expr))
        report(*move);
  }

private:
  // A tensor that somebody can use afterwards. `torch::zeros({1}).to(device);` wakes the device up.
  static bool isNamed(const Expr *receiver) {
    const Expr *tensor = strip(receiver);
    return tensor->isLValue() || tensor->getType()->isPointerType();
  }

  // A tensor that is made here for nothing but such moves: the first use of a device, or a
  // measurement.
  static bool isWarmupOnly(const FunctionFacts &facts, const Expr *receiver,
                           llvm::ArrayRef<const Operation *> discarded) {
    const VarDecl *variable = variableOf(receiver);
    if (!variable || !variable->isLocalVarDecl() || !variable->getInit() ||
        !isFactory(calleeOf(strip(variable->getInit()))))
      return false;
    const auto moves = llvm::count_if(
        discarded, [&](const Operation *move) { return variableOf(move->receiver) == variable; });
    return mentions(facts.function->getBody(), variable) == moves;
  }

  static const VarDecl *variableOf(const Expr *expr) {
    const auto *reference = dyn_cast<DeclRefExpr>(strip(expr));
    return reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  }

  static std::ptrdiff_t mentions(const Stmt *statement, const VarDecl *variable) {
    const auto *reference = dyn_cast<DeclRefExpr>(statement);
    std::ptrdiff_t count = reference && reference->getDecl() == variable;
    for (const Stmt *child : statement->children())
      if (child)
        count += mentions(child, variable);
    return count;
  }

  void report(const Operation &move) {
    Diagnosis finding{.place = locationOf(move.expr),
                      .message =
                          "'" + spelling(move.expr) +
                          "' moves nothing in place: the tensor that it returns is discarded",
                      .range = move.expr->getSourceRange(),
                      .op = operatorName(move.expr),
                      .from = move.operands.front().value.place.device(),
                      .to = move.target.place.device()};
    if (isAssignable(move.receiver) && editable(move.expr)) {
      const llvm::StringRef tensor = textOf(model().context(), move.receiver->getSourceRange());
      finding.fix.push_back(
          FixItHint::CreateInsertion(move.expr->getBeginLoc(), (tensor + " = ").str()));
    }
    diagnose(std::move(finding));
  }

  // A variable or member that keeps what is assigned to it: not the copy, or the reference to who
  // knows what, that a loop declares for each element.
  static bool isAssignable(const Expr *receiver) {
    const Expr *tensor = strip(receiver);
    const VarDecl *variable = variableOf(tensor);
    return isa<DeclRefExpr, MemberExpr>(tensor) && !tensor->getType()->isPointerType() &&
           !tensor->getType().isConstQualified() && !(variable && variable->isCXXForRangeDecl());
  }
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(DiscardedMoveCheck, discarded_move)
