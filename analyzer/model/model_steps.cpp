// What code runs on every step, and what was set up before it.
#include "analyzer/model/model.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/device_guards.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/occasional.h"

#include <clang/AST/ParentMapContext.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

// How far a helper may be from the step that calls it.
constexpr int kMaxCallDepth = 3;

// The statement around `node`, through variable declarations and out of lambdas into the code that
// writes them; null at the function's own body.
const Stmt *parentOf(ASTContext &context, const DynTypedNode &node, int depth = 0) {
  if (depth > 4)
    return nullptr;
  for (const DynTypedNode &parent : context.getParents(node))
    if (const Stmt *found = parent.get<Stmt>())
      return found;
  for (const DynTypedNode &parent : context.getParents(node)) {
    const auto *method = parent.get<CXXMethodDecl>();
    const auto *record = parent.get<CXXRecordDecl>();
    bool lambda = (method && method->getParent()->isLambda()) || (record && record->isLambda());
    if (lambda || parent.get<VarDecl>() || parent.get<FunctionTemplateDecl>())
      if (const Stmt *found = parentOf(context, parent, depth + 1))
        return found;
  }
  return nullptr;
}

const Stmt *parentOf(ASTContext &context, const Stmt *statement) {
  return parentOf(context, DynTypedNode::create(*statement));
}

const Stmt *lastOf(const Stmt *statement) {
  while (const auto *compound = dyn_cast_or_null<CompoundStmt>(statement)) {
    if (compound->body_empty())
      return compound;
    statement = compound->body_back();
  }
  return statement;
}

bool leaves(const Stmt *branch) {
  const Stmt *last = lastOf(branch);
  if (const auto *full = dyn_cast_or_null<ExprWithCleanups>(last))
    last = full->getSubExpr();
  return last && isa<BreakStmt, ReturnStmt, CXXThrowExpr>(last);
}

const Stmt *bodyOf(const Stmt *loop) {
  if (const auto *counted = dyn_cast<ForStmt>(loop))
    return counted->getBody();
  if (const auto *ranged = dyn_cast<CXXForRangeStmt>(loop))
    return ranged->getBody();
  if (const auto *waiting = dyn_cast<WhileStmt>(loop))
    return waiting->getBody();
  return nullptr;
}

// `for (auto &batch : *loader) { show(batch); break; }`: the first batch alone.
bool runsOnce(const Stmt *body) {
  return leaves(body) &&
         !contains(body, [](const Stmt *part) { return isa<ContinueStmt, GotoStmt>(part); });
}

// `do { … } while (false)` is how macros make a statement, not a loop.
bool runsAgain(const ASTContext &context, const Stmt *statement) {
  if (const auto *once = dyn_cast<DoStmt>(statement)) {
    bool again = true;
    const Expr *condition = once->getCond();
    return condition->isValueDependent() ||
           !condition->EvaluateAsBooleanCondition(again, context) || again;
  }
  const Stmt *body = bodyOf(statement);
  return body && !runsOnce(body);
}

// Whether `child`, a direct child of the loop, is run again on every turn.
bool repeats(const Stmt *loop, const Stmt *child) {
  if (const auto *counted = dyn_cast<ForStmt>(loop))
    return child != counted->getInit();
  if (const auto *ranged = dyn_cast<CXXForRangeStmt>(loop))
    return child != ranged->getRangeStmt() && child != ranged->getBeginStmt() &&
           child != ranged->getEndStmt() && child != ranged->getInit();
  return true;
}

// An error is told there: what it reads for that, it reads once.
bool fails(const Stmt *branch) {
  const Stmt *last = lastOf(branch);
  if (const auto *full = dyn_cast_or_null<ExprWithCleanups>(last))
    last = full->getSubExpr();
  const auto *call = dyn_cast_or_null<CallExpr>(last);
  const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  return isa_and_nonnull<CXXThrowExpr>(last) || (callee && callee->isNoReturn());
}

// `assert(…)`, which builds for use leave out.
bool isAsserted(const ASTContext &context, const Stmt *statement) {
  const SourceManager &sources = context.getSourceManager();
  for (SourceLocation location = statement->getBeginLoc(); location.isMacroID();
       location = sources.getImmediateMacroCallerLoc(location))
    if (Lexer::getImmediateMacroName(location, sources, context.getLangOpts()) == "assert")
      return true;
  return false;
}

bool callsOne(const Stmt *statement, llvm::function_ref<bool(const FunctionDecl *)> test) {
  return contains(statement, [&](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
    return callee && test(callee);
  });
}

bool trains(const FunctionDecl *callee) {
  return nameOf(callee) == "backward" && isTorchDecl(callee);
}

// Which mode `statement` puts a module into; nothing where it does neither.
std::optional<bool> trainingModeSetBy(const ASTContext &context, const Stmt *statement) {
  std::optional<bool> mode;
  contains(statement, [&](const Stmt *part) {
    const auto *call = dyn_cast<CXXMemberCallExpr>(part);
    const CXXMethodDecl *method = call ? call->getMethodDecl() : nullptr;
    if (!method || !isTorchDecl(method))
      return false;
    if (nameOf(method) == "eval")
      mode = false;
    bool on = true;
    if (nameOf(method) == "train" && call->getNumArgs() == 1 &&
        (isa<CXXDefaultArgExpr>(call->getArg(0)) ||
         (!call->getArg(0)->isValueDependent() &&
          call->getArg(0)->EvaluateAsBooleanCondition(on, context))))
      mode = on;
    return false;
  });
  return mode;
}

// Reads a clock, to tell how long something takes.
bool readsClock(const Stmt *statement) {
  return statement && callsOne(statement, [](const FunctionDecl *callee) {
           static const llvm::StringSet<> kClocks{"clock", "clock_gettime", "gettimeofday",
                                                  "omp_get_wtime", "time"};
           const llvm::StringRef name = nameOf(callee);
           return (isLibraryDecl(callee) && name == "now") ||
                  (callee->isExternC() && kClocks.contains(name));
         });
}

bool skips(const Stmt *branch) {
  const Stmt *last = lastOf(branch);
  return last && isa<ContinueStmt, ReturnStmt>(last);
}

// `if (i % 100 != 0) continue;` before `statement` in the same block.
bool isSkippedByContinue(const CompoundStmt *block, const Stmt *statement) {
  for (const Stmt *sibling : block->body()) {
    if (sibling == statement)
      return false;
    if (const auto *condition = dyn_cast<IfStmt>(sibling))
      if (hasRemainder(condition->getCond()) && skips(condition->getThen()))
        return true;
  }
  return false;
}

// `[&] { … }()`
bool isCalledAtOnce(ASTContext &context, const LambdaExpr *lambda) {
  const Stmt *outer = parentOf(context, lambda);
  while (
      isa_and_nonnull<CastExpr, ParenExpr, MaterializeTemporaryExpr, CXXBindTemporaryExpr>(outer))
    outer = parentOf(context, outer);
  const auto *call = dyn_cast_or_null<CallExpr>(outer);
  const auto *resolved = dyn_cast_or_null<CXXOperatorCallExpr>(call);
  return call && strip(resolved ? resolved->getArg(0) : call->getCallee()) == lambda;
}

// `static const auto table = …;`
bool isMadeOnce(const Stmt *statement) {
  const auto *declaration = dyn_cast<DeclStmt>(statement);
  return declaration && llvm::any_of(declaration->decls(), [](const Decl *decl) {
           const auto *variable = dyn_cast<VarDecl>(decl);
           return variable && variable->isStaticLocal();
         });
}

// A GoogleTest body reads results because that is what it is for.
bool isTest(const FunctionDecl *function) {
  const CXXRecordDecl *record = ownerOf(function);
  while (record && record->hasDefinition() && record->getDefinition()->getNumBases() > 0) {
    record = record->getDefinition()->bases_begin()->getType()->getAsCXXRecordDecl();
    if (record && record->getQualifiedNameAsString() == "testing::Test")
      return true;
  }
  return false;
}

} // namespace

bool DeviceModel::isStep(const FunctionDecl *function) {
  llvm::StringRef name = nameOf(function);
  const CXXRecordDecl *owner = ownerOf(function);
  bool step_method = owner &&
                     (name == "forward" || name == "update" || name == "backward" ||
                      function->getOverloadedOperator() == OO_Call) &&
                     (isStateful(owner) || isAutogradFunction(owner));
  return step_method || (isStepName(name) && !function->isMain());
}

DeviceModel::Step DeviceModel::functionStep(const FunctionDecl *function, int depth) {
  const std::string in = "in '" + function->getNameAsString() + "'";
  if (isStep(function))
    return {in, false};
  if (isOperator(function))
    return {"in the operator '" + function->getNameAsString() + "'", false};
  Step found;
  if (depth == 0)
    return found;
  for (const FileScan::Caller &caller : scan().callers.lookup(function->getCanonicalDecl())) {
    if (caller.function->getCanonicalDecl() == function->getCanonicalDecl())
      continue;
    const std::optional<std::string> within = stepWithin(caller.call, caller.function);
    if (!within)
      continue;
    const std::string name = "'" + caller.function->getNameAsString() + "'";
    Step step = functionStep(caller.function, depth - 1);
    if (!within->empty())
      step = {in + ", which a loop in " + name + " calls", step.why.empty() || step.by_loop};
    else if (!step.why.empty())
      step.why = in + ", which " + name + " calls";
    if (found.why.empty() || (found.by_loop && !step.why.empty() && !step.by_loop))
      found = step;
  }
  return found;
}

std::string DeviceModel::stepOf(const FunctionDecl *function) {
  return isTest(function) ? std::string() : functionStep(function, kMaxCallDepth).why;
}

bool DeviceModel::isLoopBody(const FunctionDecl *function) {
  return functionStep(function, kMaxCallDepth).by_loop;
}

// Asked of each statement in it.
bool DeviceModel::isLoop(const Stmt *statement) {
  if (!isa<DoStmt, ForStmt, WhileStmt, CXXForRangeStmt>(statement))
    return false;
  const auto [known, is_new] = loops_.try_emplace(statement);
  if (is_new)
    known->second = runsAgain(context_, statement);
  return known->second;
}

const Stmt *DeviceModel::loopAround(const Stmt *statement) {
  for (const Stmt *child = statement; const Stmt *parent = parentOf(context_, child);
       child = parent)
    if (isLoop(parent) && repeats(parent, child))
      return parent;
  return nullptr;
}

std::optional<bool> DeviceModel::trainingMode(const Stmt *statement) {
  for (const Stmt *child = statement; const Stmt *parent = parentOf(context_, child);
       child = parent)
    if (const auto *block = dyn_cast<CompoundStmt>(parent)) {
      std::optional<bool> mode;
      for (const Stmt *sibling : block->body()) {
        if (sibling == child)
          break;
        if (const std::optional<bool> set = trainingModeSetBy(context_, sibling))
          mode = set;
      }
      if (mode)
        return mode;
    }
  return std::nullopt;
}

// A pass over data that a training program takes to see how good the model is: once per epoch at
// most.
bool DeviceModel::isEvaluation(const Stmt *loop) {
  if (!scan().trains || callsOne(loop, trains))
    return false;
  if (const std::optional<bool> mode = trainingMode(loop))
    return !*mode;
  const auto *over = dyn_cast<CXXForRangeStmt>(loop);
  const CXXRecordDecl *element =
      over ? over->getLoopVariable()->getType().getNonReferenceType()->getAsCXXRecordDecl()
           : nullptr;
  return isExample(element) && gradOff(loop);
}

bool DeviceModel::besideClock(const Stmt *statement) {
  for (const Stmt *child = statement; const Stmt *parent = parentOf(context_, child);
       child = parent) {
    const auto *block = dyn_cast<CompoundStmt>(parent);
    if (!block)
      continue;
    const Stmt *before = nullptr;
    bool found = false;
    for (const Stmt *sibling : block->body()) {
      if (found)
        return readsClock(sibling) || readsClock(before);
      found = sibling == child;
      if (!found)
        before = sibling;
    }
    if (readsClock(before))
      return true;
    // The last of a branch: what comes after it does.
    const Stmt *outer = parentOf(context_, block);
    if (!isa_and_nonnull<IfStmt, CompoundStmt>(outer))
      return false;
  }
  return false;
}

std::optional<std::string> DeviceModel::stepWithin(const Stmt *statement,
                                                   const FunctionDecl *function) {
  if ((function && isTest(function)) || isAsserted(context_, statement))
    return std::nullopt;
  std::string reason;
  bool left = false;
  bool deferred = false; // in a lambda that somebody calls later
  for (const Stmt *child = statement; const Stmt *parent = parentOf(context_, child);
       child = parent) {
    if (const auto *lambda = dyn_cast<LambdaExpr>(parent))
      deferred |= child == lambda->getBody() && !isCalledAtOnce(context_, lambda);
    if (const auto *condition = dyn_cast<IfStmt>(parent);
        condition && child != condition->getCond()) {
      if (isOccasional(context_, condition->getCond(), child == condition->getThen(), child,
                       statement))
        return std::nullopt;
      if (fails(child))
        return std::nullopt;
      left |= leaves(child);
    } else if (isa<CXXThrowExpr>(parent) || (!deferred && isMadeOnce(parent))) {
      return std::nullopt;
    } else if (const auto *choice = dyn_cast<ConditionalOperator>(parent)) {
      if (child != choice->getCond() &&
          isOccasional(context_, choice->getCond(), child == choice->getTrueExpr(), child,
                       statement))
        return std::nullopt;
    } else if (const auto *block = dyn_cast<CompoundStmt>(parent)) {
      if (isSkippedByContinue(block, child))
        return std::nullopt;
    } else if (const auto *call = dyn_cast<CallExpr>(parent)) {
      // The body of at::parallel_for works on host memory.
      if (nameOf(call->getDirectCallee()) == "parallel_for")
        return std::nullopt;
    } else if (isLoop(parent) && repeats(parent, child) && reason.empty() && !left) {
      if (isEvaluation(parent))
        return std::nullopt;
      // Where an object is made, a loop is no step.
      if (!isa_and_nonnull<CXXConstructorDecl>(function))
        reason = "in a loop";
    }
  }
  return reason;
}

std::string DeviceModel::everyStep(const Stmt *statement, const FunctionDecl *function) {
  const std::optional<std::string> within = stepWithin(statement, function);
  if (!within)
    return {};
  return !within->empty() || !function ? *within : stepOf(function);
}

llvm::SmallVector<const FunctionDecl *, 2>
DeviceModel::possibleSteps(const Stmt *statement, const FunctionDecl *function) {
  llvm::SmallVector<const FunctionDecl *, 2> found;
  const std::optional<std::string> within = stepWithin(statement, function);
  if (!within || !within->empty() || !stepOf(function).empty())
    return found;
  const auto add = [&](const FunctionDecl *called, int depth, auto &&self) -> void {
    if (called->isMain() || isTest(called) || runsOnHost(called) ||
        llvm::is_contained(found, called))
      return;
    if (called->isExternallyVisible() && !isa<CXXConstructorDecl, CXXDestructorDecl>(called))
      found.push_back(called);
    if (depth > 0)
      for (const FileScan::Caller &caller : scan().callers.lookup(called->getCanonicalDecl()))
        if (onEachRun(caller.call, caller.function))
          self(caller.function, depth - 1, self);
  };
  add(function, kMaxCallDepth, add);
  return found;
}

namespace {

bool declares(const Stmt *statement, llvm::function_ref<bool(const VarDecl *)> test) {
  const auto *declaration = dyn_cast<DeclStmt>(statement);
  return declaration && llvm::any_of(declaration->decls(), [&](const Decl *decl) {
           const auto *variable = dyn_cast<VarDecl>(decl);
           return variable && test(variable);
         });
}

auto ofType(bool (*test)(QualType)) {
  return [test](const VarDecl *variable) { return test(variable->getType()); };
}

} // namespace

// The first statement of the block that does it: what RAII objects set up lasts until its end.
const Stmt *DeviceModel::firstSetUp(const CompoundStmt *block, SetUp what) {
  auto [known, added] = set_up_.try_emplace({block, static_cast<int>(what)}, nullptr);
  if (!added)
    return known->second;
  for (const Stmt *statement : block->body()) {
    bool found = false;
    switch (what) {
    case SetUp::kDeviceGuard:
      found = declares(statement, startsGuard) || setsDeviceWithin(statement);
      break;
    case SetUp::kGradOff:
      found = declares(statement, ofType(isNoGradGuard));
      break;
    case SetUp::kSyncAllowed:
      found = declares(statement, ofType(isAllowSync));
      break;
    }
    if (found)
      return known->second = statement;
  }
  return nullptr;
}

// Whether a statement that was run before `statement`, in a block around it, does it.
bool DeviceModel::setUpBefore(const Stmt *statement, SetUp what) {
  for (const Stmt *child = statement; const Stmt *parent = parentOf(context_, child);
       child = parent)
    if (const auto *block = dyn_cast<CompoundStmt>(parent))
      if (const Stmt *first = firstSetUp(block, what))
        for (const Stmt *sibling : block->body()) {
          if (sibling == child)
            break;
          if (sibling == first)
            return true;
        }
  return false;
}

bool DeviceModel::guarded(const Stmt *statement, const FunctionDecl *function) {
  if (setUpBefore(statement, SetUp::kDeviceGuard))
    return true;
  if (!cuda_)
    cuda_ = CudaProgram::of(context_);
  const CudaWork *work = function ? cuda_->work(function) : nullptr;
  return work &&
         (work->in_guard || work->under_guard.contains(statement) || cuda_->callersGuard(*work));
}

bool DeviceModel::gradOff(const Stmt *statement) {
  return setUpBefore(statement, SetUp::kGradOff);
}

bool DeviceModel::syncAllowed(const Stmt *statement) {
  return setUpBefore(statement, SetUp::kSyncAllowed);
}

} // namespace devsan::analyzer
