#include "analyzer/model/data/last_values.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/handles.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/AST/StmtCXX.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr int kMaxCalls = 4; // of functions that call each other

const Stmt *statementAround(const Stmt *part, ASTContext &context) {
  for (const DynTypedNode &parent : context.getParents(*part)) {
    if (const auto *statement = parent.get<Stmt>())
      return statement;
    if (const auto *variable = parent.get<VarDecl>())
      for (const DynTypedNode &declaration : context.getParents(*variable))
        return declaration.get<Stmt>();
  }
  return nullptr;
}

// The function that is called may see the member, or anything may be called.
bool maySee(const FunctionDecl *callee, const ValueDecl *member, int depth);

bool maySee(const Stmt *code, const ValueDecl *member, int depth) {
  return contains(code, [&](const Stmt *part) {
    if (isNameOf(part, member))
      return true;
    if (const auto *made = dyn_cast<CXXConstructExpr>(part))
      return maySee(made->getConstructor(), member, depth);
    const auto *call = dyn_cast<CallExpr>(part);
    return call && maySee(call->getDirectCallee(), member, depth);
  });
}

bool maySee(const FunctionDecl *callee, const ValueDecl *member, int depth) {
  const auto *method = dyn_cast_or_null<CXXMethodDecl>(callee);
  if (!callee || depth == 0 || (method && method->isVirtual()))
    return true;
  if (isLibraryDecl(callee)) // unless it calls what it holds, as std::function does
    return callee->getOverloadedOperator() == OO_Call && method->getParent()->isInStdNamespace();
  if (callee->isImplicit() || callee->isDefaulted())
    return false;
  const FunctionDecl *definition = nullptr;
  return !callee->hasBody(definition) || maySee(definition->getBody(), member, depth - 1);
}

bool leaves(const Stmt *part) {
  return isa<ReturnStmt, BreakStmt, ContinueStmt, GotoStmt, IndirectGotoStmt, CXXThrowExpr,
             CoroutineSuspendExpr, CoreturnStmt, SwitchCase, LabelStmt>(part);
}

// The part is run, and nothing that names the member but this function itself.
bool isSeenOrLeft(const Stmt *statement, const ValueDecl *member) {
  return contains(statement, [&](const Stmt *part) {
    if (leaves(part))
      return true;
    if (const auto *lambda = dyn_cast<LambdaExpr>(part))
      return maySee(lambda->getBody(), member, kMaxCalls);
    if (const auto *made = dyn_cast<CXXConstructExpr>(part))
      return maySee(made->getConstructor(), member, kMaxCalls);
    const auto *call = dyn_cast<CallExpr>(part);
    return call && maySee(call->getDirectCallee(), member, kMaxCalls);
  });
}

// The block of which the expression is a whole statement.
const CompoundStmt *blockOf(const Stmt *expr, const Stmt *&statement, ASTContext &context) {
  for (statement = expr;;) {
    const Stmt *parent = statementAround(statement, context);
    if (const auto *block = dyn_cast_or_null<CompoundStmt>(parent))
      return block;
    if (!isa_and_nonnull<ExprWithCleanups, ParenExpr>(parent))
      return nullptr;
    statement = parent;
  }
}

// The statement of the block that the part lies in.
const Stmt *statementOf(const Stmt *part, const CompoundStmt *block, ASTContext &context) {
  while (part && !isa<LambdaExpr>(part)) {
    const Stmt *parent = statementAround(part, context);
    if (parent == block)
      return part;
    part = parent;
  }
  return nullptr;
}

} // namespace

bool isReplaced(const Operation &set, const FunctionFacts &facts, ASTContext &context) {
  const auto *member = set.path ? dyn_cast_or_null<FieldDecl>(declOf(set.path->last())) : nullptr;
  if (!member)
    return false;
  return llvm::any_of(facts.operations, [&](const Operation &later) {
    if (later.kind != Operation::Kind::kAssign || later.path != set.path || &later == &set)
      return false;
    const Stmt *last = nullptr;
    const CompoundStmt *block = blockOf(exprOf(later.expr), last, context);
    const Stmt *first = block ? statementOf(exprOf(set.expr), block, context) : nullptr;
    if (!first || first == last)
      return false;
    const auto begin = llvm::find(block->body(), first);
    const auto end = std::find(begin, block->body_end(), last);
    return end != block->body_end() && !isSeenOrLeft(last, member) &&
           std::none_of(begin, end, [&](const Stmt *part) { return isSeenOrLeft(part, member); });
  });
}

} // namespace devsan::analyzer
