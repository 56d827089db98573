// What a turn of a loop does around a read of the host: what else may run, what may change the
// data.
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/parents.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/facts/operators.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>

#include <utility>
#include <vector>

namespace devsan::analyzer {

using namespace clang;

namespace {

bool isArithmetic(QualType type) {
  return type.getNonReferenceType()->isArithmeticType();
}

// What the data are is written there: literals, constants.
bool isSpelledOut(const Expr *expr) {
  return !contains(expr, [](const Stmt *part) {
    const auto *reference = dyn_cast<DeclRefExpr>(part);
    const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    return isa<MemberExpr, CXXThisExpr, LambdaExpr>(part) ||
           (variable && !variable->isConstexpr() && !isTorchDecl(variable));
  });
}

// What a list of one element is made of: no other list, no container.
bool isOneNumber(const Expr *element) {
  return !contains(element, [](const Stmt *part) {
    return isa<InitListExpr>(part) || (isa<DeclRefExpr, MemberExpr, CallExpr>(part) &&
                                       !isArithmetic(cast<Expr>(part)->getType()));
  }) && contains(element, [](const Stmt *part) {
    const auto *expr = dyn_cast<Expr>(part);
    return expr && isArithmetic(expr->getType());
  });
}

// The callee can change nothing of what it is given there: not the handle, nor memory by a pointer.
bool takesCopy(const FunctionDecl *callee, const CallExpr *call, const Expr *given) {
  for (unsigned i = 0; i < call->getNumArgs() && i < callee->getNumParams(); ++i)
    if (strip(call->getArg(i)) == strip(given)) {
      const QualType type = callee->getParamDecl(i)->getType();
      return !type->isPointerType() &&
             (!type->isReferenceType() || type->getPointeeType().isConstQualified());
    }
  return false;
}

// The last case of a switch's body before a statement there; null in another block.
const Stmt *caseOf(const CompoundStmt *block, const Stmt *statement) {
  const Stmt *last = nullptr;
  for (const Stmt *sibling : block->body()) {
    if (isa<SwitchCase>(sibling))
      last = sibling;
    if (sibling == statement)
      break;
  }
  return last;
}

} // namespace

bool SourceProgram::isBeforeBackward(Code read, Function function) {
  const Expr *expr = exprOf(read);
  const Stmt *loop = model_->loopAround(expr);
  const SourceManager &sources = context().getSourceManager();
  return contains(loop ? loop : functionOf(function)->getBody(), [&](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
    return callee && nameOf(callee) == "backward" && isTorchDecl(callee) &&
           model_->loopAround(call) == loop &&
           sources.isBeforeInTranslationUnit(expr->getEndLoc(), call->getBeginLoc());
  });
}

// Whether what the loop around `read` does may give the tensor other values: code that is given it,
// its memory or its owner, and operations in place on it or on a part of it.
bool SourceProgram::mayChange(const Path &tensor, Code read) {
  const Stmt *loop = model_->loopAround(exprOf(read));
  const auto *root = declOf(tensor.root);
  const auto *field = tensor.fields.empty() ? nullptr : declOf(tensor.fields.front());
  llvm::SmallPtrSet<const Stmt *, 16> own; // of the read itself
  contains(exprOf(read), [&](const Stmt *part) {
    own.insert(part);
    return false;
  });
  const auto is_mention = [&](const Stmt *part) {
    if (own.contains(part))
      return false;
    return root ? isNameOf(part, root) : (field && isNameOf(part, field)) || isa<CXXThisExpr>(part);
  };
  return contains(loop, [&](const Stmt *part) {
    if (own.contains(part))
      return false;
    if (const auto *assignment = dyn_cast<BinaryOperator>(part))
      return assignment->isAssignmentOp() && contains(assignment->getLHS(), is_mention);
    const auto *call = dyn_cast<CallExpr>(part);
    if (!call || !contains(call, is_mention))
      return false;
    const FunctionDecl *callee = call->getDirectCallee();
    if (!callee || isa<CUDAKernelCallExpr>(call))
      return true;
    const auto *method = dyn_cast<CXXMethodDecl>(callee);
    const Expr *receiver = receiverOf(call);
    if (isTorchDecl(callee)) {
      const auto *op = dyn_cast<CXXOperatorCallExpr>(call);
      const Expr *target = op && op->isAssignmentOp() ? op->getArg(0) : receiver;
      return target && contains(target, is_mention) &&
             ((op && op->isAssignmentOp()) || isInPlace(nameOf(callee).str()));
    }
    if (callee->isInStdNamespace())
      return false;
    if (receiver && contains(receiver, is_mention))
      return !method || !method->isConst() || !root;
    return llvm::any_of(argumentsOf(call), [&](const Expr *given) {
      return contains(given, is_mention) && !takesCopy(callee, call, given);
    });
  });
}

// Only one of both runs in a turn.
bool SourceProgram::areExclusive(Code one, Code other) {
  // What chooses, and which way the code is.
  const auto branches = [&](Code code) {
    std::vector<std::pair<const Stmt *, const Stmt *>> found;
    const Stmt *part = exprOf(code);
    while (const Stmt *parent = directParent(context(), part)) {
      if (isa<IfStmt, ConditionalOperator>(parent))
        found.emplace_back(parent, part);
      else if (const auto *block = dyn_cast<CompoundStmt>(parent))
        found.emplace_back(block, caseOf(block, part));
      part = parent;
    }
    return found;
  };
  const auto others = branches(other);
  return llvm::any_of(branches(one), [&](const auto &branch) {
    const auto *condition = dyn_cast<IfStmt>(branch.first);
    const auto *choice = dyn_cast<ConditionalOperator>(branch.first);
    const Stmt *decides = condition ? condition->getCond() : choice ? choice->getCond() : nullptr;
    return llvm::any_of(others, [&](const auto &way) {
      return way.first == branch.first && way.second != branch.second && way.second != decides &&
             branch.second != decides;
    });
  });
}

bool SourceProgram::hasVariableIndex(Code element) {
  return contains(exprOf(element), [](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    if (!call)
      return false;
    const FunctionDecl *callee = call->getDirectCallee();
    const bool is_subscript = callee && callee->getOverloadedOperator() == OO_Subscript;
    if (!is_subscript && nameOf(callee) != "index" && nameOf(callee) != "select" &&
        nameOf(callee) != "narrow" && nameOf(callee) != "at")
      return false;
    return llvm::any_of(argumentsOf(call),
                        [](const Expr *argument) { return !isSpelledOut(argument); });
  });
}

bool SourceProgram::isConstantData(Code factory) {
  const auto *call = dyn_cast<CallExpr>(exprOf(factory));
  if (!call || call->getNumArgs() == 0)
    return false;
  const auto is_one = [](const Stmt *part) {
    const auto *list = dyn_cast<InitListExpr>(part);
    return list && list->getNumInits() == 1 && isOneNumber(list->getInit(0));
  };
  return isSpelledOut(call->getArg(0)) || contains(call->getArg(0), is_one);
}

} // namespace devsan::analyzer
