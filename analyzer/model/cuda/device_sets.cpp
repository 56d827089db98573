#include "analyzer/model/cuda/device_sets.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/device_guards.h"
#include "analyzer/ast/torch_api.h"

#include <clang/AST/ParentMapContext.h>
#include <clang/Analysis/CFG.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

bool containsSet(const Stmt *statement) {
  return contains(statement, [](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    return call && setsDevice(call);
  });
}

// A project's own guard: the destructor restores.
bool isGuardMember(const FunctionDecl *function) {
  const auto *method = dyn_cast<CXXMethodDecl>(function);
  const CXXDestructorDecl *destructor = method ? method->getParent()->getDestructor() : nullptr;
  const FunctionDecl *definition = nullptr;
  return isa<CXXDestructorDecl>(function) ||
         (destructor && destructor->hasBody(definition) && containsSet(definition->getBody()));
}

// A call of CUDA's runtime that is no question and no report of an error.
bool doesCudaWork(llvm::StringRef name) {
  return (name.consume_front("cuda") || name.consume_front("hip")) && !name.starts_with("Get") &&
         !name.starts_with("Peek");
}

// A function that does nothing but set the device that it is given; its callers are the ones to
// look at.
bool isWrapper(const CudaWork &work) {
  if (work.touches_tensors || !work.launches.empty() || work.sets.size() != 1 ||
      !work.sets[0].device)
    return false;
  const auto *device = dyn_cast<DeclRefExpr>(work.sets[0].device->IgnoreParenCasts());
  return device && isa<ParmVarDecl>(device->getDecl()) && work.calls.empty() &&
         !contains(work.function->getBody(), [](const Stmt *part) {
           const auto *call = dyn_cast<CallExpr>(part);
           return call && !setsDevice(call) && doesCudaWork(nameOf(calledFunction(call)));
         });
}

bool holdsCurrentDevice(const VarDecl *variable, const CudaWork &work) {
  struct Visitor : AstVisitor {
    explicit Visitor(const VarDecl *variable) : variable(variable) {}
    bool VisitCallExpr(CallExpr *call) override {
      const llvm::StringRef name = nameOf(calledFunction(call));
      if (name != "cudaGetDevice" && name != "GetDevice" && name != "hipGetDevice")
        return true;
      const auto *address = call->getNumArgs()
                                ? dyn_cast<UnaryOperator>(call->getArg(0)->IgnoreParenCasts())
                                : nullptr;
      const auto *target =
          address ? dyn_cast<DeclRefExpr>(address->getSubExpr()->IgnoreParens()) : nullptr;
      found |= target && target->getDecl() == variable;
      return !found;
    }
    const VarDecl *variable;
    bool found = false;
  } visitor(variable);
  visitor.TraverseStmt(work.function->getBody());
  if (visitor.found)
    return true;
  const auto *call = variable->getInit()
                         ? dyn_cast<CallExpr>(strip(variable->getInit())->IgnoreParenCasts())
                         : nullptr;
  const llvm::StringRef name = call ? nameOf(calledFunction(call)) : llvm::StringRef();
  return name == "current_device" || name == "ExchangeDevice" || name == "MaybeExchangeDevice" ||
         name == "getDevice";
}

// Sets the device back to one that was asked for before: a variable filled by cudaGetDevice or
// current_device.
bool isRestore(const SetDevice &set, const CudaWork &work) {
  const auto *device = set.device ? dyn_cast<DeclRefExpr>(set.device->IgnoreParenCasts()) : nullptr;
  const auto *variable = device ? dyn_cast<VarDecl>(device->getDecl()) : nullptr;
  return variable && variable->isLocalVarDecl() && holdsCurrentDevice(variable, work);
}

// Of the standard library's, smart pointers run a lambda in their destructor: their deleter.
bool runsAtScopeExit(QualType type) {
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  if (!record || record->isLambda() || !record->hasDefinition())
    return false;
  return record->isInStdNamespace()
             ? record->getName() == "unique_ptr" || record->getName() == "shared_ptr"
             : !record->hasTrivialDestructor();
}

// `ScopeExit restore([&] { cudaSetDevice(old); });`: an object whose destructor runs the lambda.
bool restoresAtScopeExit(const CudaWork &work) {
  return contains(work.function->getBody(), [&](const Stmt *part) {
    const auto *declaration = dyn_cast<DeclStmt>(part);
    return declaration && llvm::any_of(declaration->decls(), [&](const Decl *decl) {
             const auto *variable = dyn_cast<VarDecl>(decl);
             return variable && variable->getInit() && runsAtScopeExit(variable->getType()) &&
                    contains(variable->getInit(), [&](const Stmt *inner) {
                      const auto *lambda = dyn_cast<LambdaExpr>(inner);
                      return lambda && llvm::any_of(work.sets, [&](const SetDevice &set) {
                               return set.body == lambda->getBody() && !set.in_new_thread &&
                                      isRestore(set, work);
                             });
                    });
           });
  });
}

// The condition of the innermost `if` that runs the call.
const Expr *conditionOf(ASTContext &context, const Expr *call) {
  DynTypedNode node = DynTypedNode::create(*call);
  for (;;) {
    const DynTypedNodeList parents = context.getParents(node);
    if (parents.empty() || !(parents[0].get<Stmt>() || parents[0].get<VarDecl>()) ||
        parents[0].get<LambdaExpr>())
      return nullptr;
    if (const auto *branch = parents[0].get<IfStmt>())
      return branch->getElse() || branch->getCond() == node.get<Expr>() ? nullptr
                                                                        : branch->getCond();
    node = parents[0];
  }
}

// `if (device != old) cudaSetDevice(old);`: where it is not called, nothing is to be restored. So
// it is where the device was changed under the same condition.
bool isRestoredUnderSameCondition(ASTContext &context, const Expr *condition,
                                  const SetDevice &restore, const SetDevice &set) {
  const auto *differ = dyn_cast<BinaryOperator>(condition->IgnoreParenImpCasts());
  const auto *old = dyn_cast<DeclRefExpr>(restore.device->IgnoreParenCasts());
  if (differ && differ->getOpcode() == BO_NE && old)
    for (const Expr *side : {differ->getLHS(), differ->getRHS()})
      if (const auto *named = dyn_cast<DeclRefExpr>(side->IgnoreParenImpCasts());
          named && named->getDecl() == old->getDecl())
        return true;
  const Expr *before = conditionOf(context, set.expr);
  if (!before)
    return false;
  llvm::FoldingSetNodeID one, other;
  before->Profile(one, context, /*Canonical=*/true);
  condition->Profile(other, context, /*Canonical=*/true);
  return one == other;
}

// From the call to the end of its function without passing a restoring one. Ways that end in a
// throw or an abort do not count: what they leave behind is beyond repair by a call.
bool canLeaveWithoutRestore(ASTContext &context, const SetDevice &set, const CudaWork &work) {
  llvm::SmallPtrSet<const Stmt *, 4> restores;
  for (const SetDevice &other : work.sets)
    if (isRestore(other, work)) {
      restores.insert(other.expr);
      if (const Expr *condition = conditionOf(context, other.expr);
          condition && isRestoredUnderSameCondition(context, condition, other, set)) {
        restores.insert(condition);
        restores.insert(condition->IgnoreParenImpCasts());
      }
    }
  if (restores.empty())
    return true;
  const std::unique_ptr<CFG> graph =
      CFG::buildCFG(work.function, const_cast<Stmt *>(set.body), &context, CFG::BuildOptions());
  if (!graph)
    return false;
  llvm::SmallVector<const CFGBlock *, 16> pending;
  llvm::SmallPtrSet<const CFGBlock *, 16> seen;
  // True where the way goes on behind the elements.
  const auto pass = [&](const CFGBlock &block, bool active) {
    for (const CFGElement &element : block) {
      const auto statement = element.getAs<CFGStmt>();
      if (!statement)
        continue;
      if (active && restores.contains(statement->getStmt()))
        return false;
      active |= statement->getStmt() == set.expr;
    }
    return active;
  };
  const auto follow = [&](const CFGBlock &block) {
    if (block.hasNoReturnElement())
      return;
    for (const CFGBlock *next : block.succs())
      if (next && seen.insert(next).second)
        pending.push_back(next);
  };
  for (const CFGBlock *block : *graph)
    if (pass(*block, false))
      follow(*block);
  while (!pending.empty()) {
    const CFGBlock *block = pending.pop_back_val();
    if (block == &graph->getExit())
      return true;
    if (pass(*block, true))
      follow(*block);
  }
  return false;
}

} // namespace

DeviceSets deviceSets(const CudaWork &work, ASTContext &context) {
  DeviceSets sets;
  if (work.sets.empty())
    return sets;
  sets.by_guard = isGuardMember(work.function);
  sets.is_wrapper = isWrapper(work);
  sets.restored_at_exit = restoresAtScopeExit(work);
  if (sets.by_guard || sets.is_wrapper || sets.restored_at_exit)
    return sets;
  for (const SetDevice &set : work.sets) {
    const bool restores = isRestore(set, work);
    sets.sets.push_back({set.expr, set.in_new_thread, restores,
                         !restores && canLeaveWithoutRestore(context, set, work)});
  }
  return sets;
}

} // namespace devsan::analyzer
