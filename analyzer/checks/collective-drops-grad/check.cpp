#include "analyzer/ast/operator_name.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/device_check.h"

#include <clang/AST/ParentMapContext.h>
#include <clang/Lex/Lexer.h>
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
    Place place;
    for (const Operand &operand : operation.operands) {
      const Expr *lost = lostGraph(operand.value);
      // An operand with a graph of its own is the own slice, or a loss of its own.
      if (!lost && !operand.value.no_grad)
        return;
      if (lost) {
        gather = lost;
        place = operand.value.place;
      }
    }
    if (gather)
      report(facts, gather, operation.expr, "combined here", place, operatorName(operation.expr));
  }

  void examineReturn(const FunctionFacts &facts, const Operation &operation) {
    for (const Operand &operand : operation.operands)
      if (const Expr *gather = lostGraph(operand.value))
        report(facts, gather, operation.expr, "handed on here", operand.value.place, "");
  }

  void report(const FunctionFacts &facts, const Expr *gather, const Expr *use, llvm::StringRef how,
              const Place &place, std::string op) {
    if (model().gradOff(gather) || model().gradOff(use) || !escapes(facts, gather) ||
        !firstAt(gather))
      return;
    diagnose(
        {.place = locationOf(gather),
         .message = llvm::formatv("'{0}' gathers tensors without their autograd graph, and they "
                                  "are used without the own slice among them: no gradient flows "
                                  "back; put the own tensor back at the own rank first",
                                  nameOf(calleeOf(gather)))
                        .str(),
         .range = gather->getSourceRange(),
         .op = std::move(op),
         .from = place.device(),
         .related = {{locationOf(use), how.str(), use->getSourceRange()}},
         .fix = fix(gather)});
  }

  // `group->allgather(outputs, inputs)->wait();` is followed by `outputs[0][group->getRank()] =
  // inputs[0];`: the lists hold handles, so only the list that is used afterwards may be changed,
  // and only where nothing else shares its tensors.
  llvm::SmallVector<FixItHint, 4> fix(const Expr *gather) {
    const auto *call = dyn_cast<CXXMemberCallExpr>(strip(gather));
    llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
    if (!call || nameOf(calleeOf(call)) != "allgather" || arguments.size() != 2 || !editable(call))
      return {};
    const Expr *group = call->getImplicitObjectArgument();
    if (const auto *arrow = dyn_cast<CXXOperatorCallExpr>(strip(group)))
      group = arrow->getArg(0);
    const VarDecl *outputs = variableIn(arguments[0]);
    const VarDecl *inputs = variableIn(arguments[1]);
    if (!outputs || !inputs || !variableIn(group) || sharesTensors(outputs->getInit()))
      return {};
    SourceLocation end = endOfWait(call);
    if (end.isInvalid())
      return {};
    bool pointer = cast<MemberExpr>(call->getCallee()->IgnoreParens())->isArrow() ||
                   isa<CXXOperatorCallExpr>(strip(call->getImplicitObjectArgument()));
    std::string rank = variableIn(group)->getNameAsString() + (pointer ? "->" : ".") + "getRank()";
    return {FixItHint::CreateInsertion(end, "\n" + indentAt(call) + outputs->getNameAsString() +
                                                "[0][" + rank + "] = " + inputs->getNameAsString() +
                                                "[0];")};
  }

  static const VarDecl *variableIn(const Expr *expr) {
    const auto *reference = dyn_cast<DeclRefExpr>(strip(expr));
    return reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  }

  static bool sharesTensors(const Stmt *init) {
    if (!init)
      return false;
    const auto *reference = dyn_cast<DeclRefExpr>(init);
    if (reference && holdsTensor(reference->getType()) && !isTensor(reference->getType()))
      return true;
    return llvm::any_of(init->children(),
                        [](const Stmt *child) { return child && sharesTensors(child); });
  }

  // Behind the semicolon of the statement that waits for the call.
  SourceLocation endOfWait(const Expr *call) {
    const SourceManager &sources = model().context().getSourceManager();
    const Expr *whole = call;
    bool waits = false;
    for (DynTypedNode node = DynTypedNode::create(*call);;) {
      DynTypedNodeList parents = model().context().getParents(node);
      if (parents.empty())
        return {};
      node = parents[0];
      if (node.get<CompoundStmt>())
        break;
      whole = node.get<Expr>();
      if (!whole)
        return {};
      const auto *member = dyn_cast<CXXMemberCallExpr>(whole);
      waits |= member && nameOf(calleeOf(member)) == "wait";
    }
    std::optional<Token> semicolon =
        Lexer::findNextToken(whole->getEndLoc(), sources, getLangOpts());
    return waits && semicolon && semicolon->is(tok::semi) ? semicolon->getEndLoc()
                                                          : SourceLocation();
  }

  std::string indentAt(const Expr *expr) {
    const SourceManager &sources = model().context().getSourceManager();
    return Lexer::getIndentationForLine(expr->getBeginLoc(), sources).str();
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
      case Operation::Kind::kLaunch:
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
