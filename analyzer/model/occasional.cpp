#include "analyzer/model/occasional.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"

#include <clang/AST/ParentMapContext.h>
#include <clang/AST/StmtCXX.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr int kMaxDepth = 2; // of variables and functions that conditions are kept in

// The variable or member that an expression is; null for any other expression.
const ValueDecl *namedBy(const Expr *expr) {
  if (const auto *reference = dyn_cast<DeclRefExpr>(expr))
    return dyn_cast<VarDecl>(reference->getDecl());
  if (const auto *member = dyn_cast<MemberExpr>(expr))
    return dyn_cast<FieldDecl>(member->getMemberDecl());
  return nullptr;
}

bool mentions(const Stmt *tree, const ValueDecl *decl) {
  return contains(tree, [&](const Stmt *part) {
    const auto *expr = dyn_cast<Expr>(part);
    return expr && namedBy(expr) == decl;
  });
}

// (i & 63) == 0. Masks of one bit are flags more often than not.
bool isMasked(const BinaryOperator *comparison) {
  const auto *masked = dyn_cast<BinaryOperator>(strip(comparison->getLHS()));
  if (!comparison->isEqualityOp() || !masked || masked->getOpcode() != BO_And)
    return false;
  const auto *mask = dyn_cast<IntegerLiteral>(strip(masked->getRHS()));
  return mask && mask->getValue().isMask() && mask->getValue().ugt(1);
}

bool hasRemainder(const Stmt *condition, int depth) {
  return contains(condition, [&](const Stmt *part) {
    if (const auto *binary = dyn_cast<BinaryOperator>(part))
      return binary->getOpcode() == BO_Rem || isMasked(binary);
    if (depth == 0)
      return false;
    if (const auto *reference = dyn_cast<DeclRefExpr>(part)) {
      const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
      return variable && variable->isLocalVarDecl() && variable->getType()->isIntegerType() &&
             hasRemainder(variable->getInit(), depth - 1);
    }
    const auto *call = dyn_cast<CallExpr>(part);
    const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
    return callee && callee->getReturnType()->isBooleanType() && !isLibraryDecl(callee) &&
           callee->hasBody(callee) && contains(callee->getBody(), [&](const Stmt *inner) {
             const auto *result = dyn_cast<ReturnStmt>(inner);
             return result && hasRemainder(result->getRetValue(), depth - 1);
           });
  });
}

// What `part` assigns a new value that does not depend on the old one; null where it does not.
const ValueDecl *setBy(const Stmt *part, const Expr *&value) {
  const Expr *target = nullptr;
  if (const auto *plain = dyn_cast<BinaryOperator>(part);
      plain && plain->getOpcode() == BO_Assign) {
    target = plain->getLHS();
    value = plain->getRHS();
  } else if (const auto *overloaded = dyn_cast<CXXOperatorCallExpr>(part);
             overloaded && overloaded->getOperator() == OO_Equal && overloaded->getNumArgs() == 2) {
    target = overloaded->getArg(0);
    value = overloaded->getArg(1);
  }
  const ValueDecl *decl = target ? namedBy(target->IgnoreParens()) : nullptr;
  return decl && !holdsTensor(decl->getType()) && !mentions(value, decl) ? decl : nullptr;
}

// if (++since >= 100) { since = 0; … }, if (now - last > limit) { last = now; … }
bool resetsCondition(const Expr *condition, const Stmt *branch, const Stmt *statement) {
  return contains(branch, [&](const Stmt *part) {
    const Expr *value = nullptr;
    const ValueDecl *set = setBy(part, value);
    return set && mentions(condition, set) &&
           !contains(value, [&](const Stmt *inner) { return inner == statement; });
  });
}

// The counter of a loop, or one that it differs from by a constant.
const VarDecl *counterOf(ASTContext &context, const Expr *expr) {
  expr = strip(expr);
  if (const auto *offset = dyn_cast<BinaryOperator>(expr);
      offset && offset->isAdditiveOp() && isa<IntegerLiteral>(strip(offset->getRHS())))
    expr = strip(offset->getLHS());
  const auto *reference = dyn_cast<DeclRefExpr>(expr);
  const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  if (!variable)
    return nullptr;
  for (const DynTypedNode &declaration : context.getParents(*variable))
    if (const auto *statement = declaration.get<DeclStmt>())
      for (const DynTypedNode &parent : context.getParents(*statement))
        if (const auto *loop = parent.get<ForStmt>(); loop && loop->getInit() == statement)
          return variable;
  return nullptr;
}

// if (i + 1 == n), if (i == 3 && show): on one turn.
bool comparesWithOneIteration(ASTContext &context, const Expr *condition) {
  const auto *comparison = dyn_cast<BinaryOperator>(strip(condition));
  if (comparison && comparison->getOpcode() == BO_LAnd)
    return comparesWithOneIteration(context, comparison->getLHS()) ||
           comparesWithOneIteration(context, comparison->getRHS());
  if (!comparison || comparison->getOpcode() != BO_EQ)
    return false;
  const Expr *sides[] = {comparison->getLHS(), comparison->getRHS()};
  for (int i : {0, 1})
    if (const VarDecl *counter = counterOf(context, sides[i]))
      return !mentions(sides[1 - i], counter);
  return false;
}

} // namespace

bool hasRemainder(const Expr *condition) {
  return hasRemainder(condition, kMaxDepth);
}

bool isOccasional(ASTContext &context, const Expr *condition, bool when_true, const Stmt *branch,
                  const Stmt *statement) {
  // `if (i % 10 == 0) … else …`: the other way is the usual one.
  if (const auto *comparison = dyn_cast<BinaryOperator>(strip(condition));
      comparison && comparison->isEqualityOp() && hasRemainder(condition))
    return when_true == (comparison->getOpcode() == BO_EQ);
  return hasRemainder(condition) || resetsCondition(condition, branch, statement) ||
         (when_true && comparesWithOneIteration(context, condition));
}

} // namespace devsan::analyzer
