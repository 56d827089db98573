#include "analyzer/model/cuda/given_stream.h"

#include "analyzer/ast/contains.h"

#include <llvm/ADT/STLExtras.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

bool mayWrite(QualType type) {
  return type->isLValueReferenceType() && !type.getNonReferenceType().isConstQualified();
}

bool names(const Stmt *part, const ParmVarDecl *parameter) {
  const auto *expr = dyn_cast_or_null<Expr>(part);
  const auto *reference = expr ? dyn_cast<DeclRefExpr>(expr->IgnoreParenCasts()) : nullptr;
  return reference && reference->getDecl() == parameter;
}

// What a call says of its success is no word on the parameter.
bool isDecidedBy(const Stmt *condition, const ParmVarDecl *parameter) {
  const auto *call = dyn_cast_or_null<CallExpr>(condition);
  return condition && (!call || call->getType()->isBooleanType()) &&
         (names(condition, parameter) || llvm::any_of(condition->children(), [&](const Stmt *part) {
            return isDecidedBy(part, parameter);
          }));
}

const Stmt *conditionOf(const Stmt *part) {
  if (const auto *branch = dyn_cast<IfStmt>(part))
    return branch->getCond();
  if (const auto *choice = dyn_cast<AbstractConditionalOperator>(part))
    return choice->getCond();
  if (const auto *cases = dyn_cast<SwitchStmt>(part))
    return cases->getCond();
  if (const auto *loop = dyn_cast<WhileStmt>(part))
    return loop->getCond();
  if (const auto *loop = dyn_cast<DoStmt>(part))
    return loop->getCond();
  if (const auto *loop = dyn_cast<ForStmt>(part))
    return loop->getCond();
  if (const auto *comparison = dyn_cast<BinaryOperator>(part))
    return comparison->isComparisonOp() ? comparison : nullptr;
  const auto *cast = dyn_cast<CastExpr>(part);
  return cast && cast->getCastKind() == CK_PointerToBoolean ? cast : nullptr;
}

// More than to hand the parameter on: it is written, or others may write it, or it decides.
bool isOwnUse(const Stmt *part, const ParmVarDecl *parameter) {
  if (isDecidedBy(conditionOf(part), parameter))
    return true;
  if (const auto *op = dyn_cast<BinaryOperator>(part))
    return op->isAssignmentOp() && names(op->getLHS(), parameter);
  if (const auto *op = dyn_cast<UnaryOperator>(part))
    return op->getOpcode() == UO_AddrOf && names(op->getSubExpr(), parameter);
  if (const auto *declaration = dyn_cast<DeclStmt>(part))
    return llvm::any_of(declaration->decls(), [&](const Decl *decl) {
      const auto *variable = dyn_cast<VarDecl>(decl);
      return variable && mayWrite(variable->getType()) && names(variable->getInit(), parameter);
    });
  const auto *call = dyn_cast<CallExpr>(part);
  const FunctionDecl *callee =
      call && !isa<CXXOperatorCallExpr>(call) ? call->getDirectCallee() : nullptr;
  if (callee)
    for (const auto &[taken, argument] : llvm::zip(callee->parameters(), call->arguments()))
      if (mayWrite(taken->getType()) && names(argument, parameter))
        return true;
  return false;
}

} // namespace

const ParmVarDecl *givenStream(const CudaWork &work) {
  const auto given = llvm::find_if(work.function->parameters(), [&](const ParmVarDecl *parameter) {
    const QualType type = parameter->getType();
    if (!isStreamHandle(type.getNonReferenceType()) || parameter->getName().empty() ||
        (type->isReferenceType() && !type.getNonReferenceType().isConstQualified()))
      return false;
    return !contains(work.function->getBody(),
                     [&](const Stmt *part) { return isOwnUse(part, parameter); });
  });
  return given == work.function->param_end() ? nullptr : *given;
}

} // namespace devsan::analyzer
