#include "analyzer/model/cuda/cuda_work.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/device_guards.h"
#include "analyzer/ast/torch_api.h"

#include <clang/AST/DeclTemplate.h>
#include <llvm/ADT/STLExtras.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

// All functions of the program with a body, each as it is written.
class Functions : public AstVisitor {
public:
  std::vector<const FunctionDecl *> found;

  bool VisitFunctionDecl(FunctionDecl *function) override {
    const auto *method = dyn_cast<CXXMethodDecl>(function);
    if (function->doesThisDeclarationHaveABody() && !(method && method->getParent()->isLambda()))
      found.push_back(function);
    return true;
  }
};

// Whether the program uses LibTorch, as far as this file shows.
bool declaresTensor(ASTContext &context) {
  const auto spaces = context.getTranslationUnitDecl()->lookup(&context.Idents.get("at"));
  return llvm::any_of(spaces, [&](const NamedDecl *decl) {
    const auto *space = dyn_cast<NamespaceDecl>(decl);
    return space && !space->lookup(&context.Idents.get("Tensor")).empty();
  });
}

// It changes the current device and leaves it changed, so its callers need no guard. What launches
// too is a function of its own right, and what restores is a guard's destructor or kin.
bool onlySetsDevice(const FunctionDecl *function) {
  struct Visitor : AstVisitor {
    bool VisitCallExpr(CallExpr *call) override {
      sets += setsDevice(call);
      launches |= isa<CUDAKernelCallExpr>(call) || isKernelLaunch(nameOf(calledFunction(call)));
      return !launches;
    }
    bool TraverseLambdaExpr(LambdaExpr *, DataRecursionQueue * = nullptr) override { return true; }
    unsigned sets = 0;
    bool launches = false;
  } visitor;
  visitor.TraverseStmt(function->getBody());
  return visitor.sets == 1 && !visitor.launches && !isa<CXXDestructorDecl>(function);
}

// Given by a caller, to be called.
bool mayBeCalled(const ParmVarDecl *parameter) {
  const QualType type = parameter->getType().getNonReferenceType();
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  return type->isDependentType() || type->isFunctionPointerType() || type->isFunctionType() ||
         (record && record->isInStdNamespace() && record->getName() == "function");
}

// The parameters that a function calls, and only while a guard is live.
void collectGuardedCallbacks(const FunctionDecl *function, DeviceHelpers &helpers) {
  if (llvm::none_of(function->parameters(), mayBeCalled))
    return;
  llvm::SmallPtrSet<const ParmVarDecl *, 4> bare;
  const CudaWork work = collectWork(function, helpers);
  for (const auto &[parameter, guarded] : work.called_parameters)
    (guarded ? helpers.guarded_callbacks : bare).insert(parameter);
  for (const ParmVarDecl *parameter : bare)
    helpers.guarded_callbacks.erase(parameter);
}

bool isNullStreamHelper(const FunctionDecl *function) {
  const FunctionDecl *definition = nullptr;
  if (!function || !function->hasBody(definition) || isLibraryDecl(function) ||
      !isStreamHandle(function->getReturnType()))
    return false;
  bool returns_null = false;
  const bool returns_other = contains(definition->getBody(), [&](const Stmt *part) {
    const auto *statement = dyn_cast<ReturnStmt>(part);
    if (!statement)
      return false;
    const Expr *value =
        statement->getRetValue() ? strip(statement->getRetValue())->IgnoreParenCasts() : nullptr;
    const bool is_null = isa_and_nonnull<CXXNullPtrLiteralExpr, GNUNullExpr, IntegerLiteral,
                                         ImplicitValueInitExpr, CXXScalarValueInitExpr>(value);
    returns_null |= is_null;
    return !is_null;
  });
  return returns_null && !returns_other;
}

} // namespace

const FunctionDecl *writtenFunction(const FunctionDecl *function) {
  // What is specialised is written there.
  if (function->getTemplateSpecializationKind() == TSK_ExplicitSpecialization)
    return function->getCanonicalDecl();
  // Not its definition alone: inside of a template, what is named is not instantiated yet.
  if (const FunctionDecl *written =
          function->getTemplateInstantiationPattern(/*ForDefinition=*/false))
    function = written;
  return function->getCanonicalDecl();
}

llvm::SmallVector<const FunctionDecl *, 2> possibleCallees(const FunctionDecl *callee) {
  llvm::SmallVector<const FunctionDecl *, 2> callees{writtenFunction(callee)};
  const auto add = [&](const FunctionDecl *other) {
    if (other->getTemplateSpecializationKind() == TSK_ExplicitSpecialization)
      callees.push_back(writtenFunction(other));
  };
  if (const FunctionTemplateDecl *primary = callee->getDescribedFunctionTemplate())
    for (const FunctionDecl *other : primary->specializations())
      add(other);
  // Of a class template, one method.
  const auto *method = dyn_cast<CXXMethodDecl>(callee);
  if (const ClassTemplateDecl *owner =
          method ? method->getParent()->getDescribedClassTemplate() : nullptr)
    for (const ClassTemplateSpecializationDecl *record : owner->specializations())
      for (const CXXMethodDecl *other : record->methods())
        if (const FunctionDecl *from = other->getInstantiatedFromMemberFunction();
            from && from->getCanonicalDecl() == method->getCanonicalDecl())
          add(other);
  return callees;
}

CudaProgram::CudaProgram(ASTContext &context) : sees_torch_(declaresTensor(context)) {
  Functions functions;
  const SourceManager &sources = context.getSourceManager();
  for (Decl *decl : context.getTraversalScope())
    if (auto *unit = dyn_cast<TranslationUnitDecl>(decl)) {
      for (Decl *inner : unit->decls())
        if (!sources.isInSystemHeader(sources.getExpansionLoc(inner->getLocation())))
          functions.TraverseDecl(inner);
    } else {
      functions.TraverseDecl(decl);
    }
  DeviceHelpers helpers;
  for (const FunctionDecl *function : functions.found)
    if (onlySetsDevice(function))
      helpers.setters.insert(function->getCanonicalDecl());
  for (const FunctionDecl *function : functions.found)
    collectGuardedCallbacks(function, helpers);
  for (const FunctionDecl *function : functions.found) {
    index_[function->getCanonicalDecl()] = functions_.size();
    functions_.push_back(collectWork(function, helpers));
  }
  for (const CudaWork &work : functions_)
    for (const auto &[function, in_new_thread] : work.named_functions)
      if (function != writtenFunction(work.function))
        namings_[function].push_back({&work, in_new_thread});
  for (const CudaWork &work : functions_)
    for (const WorkCall &call : work.calls)
      if (call.callee != writtenFunction(work.function))
        callers_[call.callee].push_back({&work, &call});
  findServants();
  findBareLaunches();
  findGuarded();
  findThreadEntries();
}

std::shared_ptr<CudaProgram> CudaProgram::of(ASTContext &context) {
  thread_local std::weak_ptr<CudaProgram> shared;
  thread_local const ASTContext *shared_context = nullptr;
  std::shared_ptr<CudaProgram> program = shared.lock();
  if (!program || shared_context != &context) {
    program = std::make_shared<CudaProgram>(context);
    shared = program;
    shared_context = &context;
  }
  return program;
}

const CudaWork *CudaProgram::work(const FunctionDecl *function) const {
  const auto found = index_.find(writtenFunction(function));
  return found == index_.end() ? nullptr : &functions_[found->second];
}

// What has a tensor, or may be given one by callers that are not here, and what these call.
void CudaProgram::findServants() {
  std::vector<const CudaWork *> pending;
  const auto add = [&](const CudaWork *work) {
    if (work && servants_.insert(work).second)
      pending.push_back(work);
  };
  for (const CudaWork &work : functions_) {
    const FunctionDecl *function = work.function;
    const bool is_open = sees_torch_ && !callers_.contains(function->getCanonicalDecl()) &&
                         !function->isMain() && function->isExternallyVisible();
    if (work.touches_tensors || is_open)
      add(&work);
  }
  while (!pending.empty()) {
    const CudaWork *work = pending.back();
    pending.pop_back();
    for (const WorkCall &call : work->calls)
      add(this->work(call.callee));
  }
}

bool CudaProgram::servesTensors(const CudaWork &work) const {
  return servants_.contains(&work);
}

bool CudaProgram::mayServeOthers(const CudaWork &work) const {
  return !sees_torch_ && !work.function->isMain();
}

// From the launches up, so that each function gets the nearest.
void CudaProgram::findBareLaunches() {
  std::vector<const CudaWork *> pending;
  const auto add = [&](const CudaWork *work, const Expr *launch) {
    if (!work->touches_tensors && bare_launches_.try_emplace(work, launch).second)
      pending.push_back(work);
  };
  for (const CudaWork &work : functions_) {
    const auto launch = llvm::find_if(work.launches, [](const Launch &launch) {
      return (launch.kind == Launch::Kind::kKernel || launch.kind == Launch::Kind::kAlgorithm) &&
             !launch.guarded;
    });
    if (launch != work.launches.end())
      add(&work, launch->expr);
    for (const HandedStream &handed : work.handed_streams)
      if (handed.unresolved && !handed.guarded)
        add(&work, handed.expr);
  }
  for (std::size_t i = 0; i < pending.size(); ++i) // NOLINT(modernize-loop-convert): it grows
    if (const auto callers = callers_.find(writtenFunction(pending[i]->function));
        callers != callers_.end())
      for (const Caller &caller : callers->second)
        if (!caller.call->guarded)
          add(caller.work, bare_launches_.lookup(pending[i]));
}

const Expr *CudaProgram::bareLaunch(const FunctionDecl *function) const {
  const CudaWork *work = this->work(function);
  return work ? bare_launches_.lookup(work) : nullptr;
}

llvm::DenseSet<const FunctionDecl *> CudaProgram::settled(
    llvm::DenseMap<const FunctionDecl *, unsigned> needs,
    llvm::function_ref<void(const CudaWork &, llvm::function_ref<void(const FunctionDecl *)>)>
        gives) const {
  llvm::DenseSet<const FunctionDecl *> holds;
  std::vector<const FunctionDecl *> pending;
  for (const auto &[function, count] : needs)
    if (count == 0)
      pending.push_back(function);
  while (!pending.empty()) {
    const FunctionDecl *function = pending.back();
    pending.pop_back();
    holds.insert(function);
    if (const CudaWork *work = this->work(function))
      gives(*work, [&](const FunctionDecl *other) {
        if (other != function && --needs[other] == 0)
          pending.push_back(other);
      });
  }
  return holds;
}

bool CudaProgram::isCalledByEngine(const FunctionDecl *function) {
  return nameOf(function) == "backward" && isAutogradFunction(ownerOf(function));
}

void CudaProgram::findGuarded() {
  const auto give_callees = [](const CudaWork &work, auto give) {
    for (const WorkCall &call : work.calls)
      if (!call.guarded && !call.in_new_thread)
        give(call.callee);
  };
  llvm::DenseMap<const FunctionDecl *, unsigned> needs;
  for (const auto &[function, callers] : callers_)
    needs[function] =
        llvm::count_if(callers, [](const Caller &caller) { return !caller.call->guarded; });
  guarded_ = settled(needs, give_callees);
  // Others may call what is registered beside a backward that calls it.
  for (auto &[function, count] : needs)
    count = guarded_.contains(function) ? 0 : count + namings_.lookup(function).size();
  for (const CudaWork &work : functions_)
    if (isCalledByEngine(work.function))
      needs.try_emplace(writtenFunction(work.function), 0);
  guarded_ = settled(std::move(needs), give_callees);
}

bool CudaProgram::callersGuard(const CudaWork &work) const {
  return guarded_.contains(writtenFunction(work.function));
}

void CudaProgram::findThreadEntries() {
  llvm::DenseMap<const FunctionDecl *, unsigned> needs;
  for (const auto &[function, namings] : namings_)
    needs[function] = llvm::count_if(
        namings, [](const FunctionReference &naming) { return !naming.in_new_thread; });
  thread_entries_ = settled(std::move(needs), [](const CudaWork &work, auto give) {
    for (const auto &[function, in_new_thread] : work.named_functions)
      if (!in_new_thread)
        give(function);
  });
}

bool CudaProgram::isThreadEntry(const CudaWork &work) const {
  return thread_entries_.contains(writtenFunction(work.function));
}

bool CudaProgram::isDefaultStream(const Expr *stream, const CudaWork &work) {
  stream = strip(stream)->IgnoreParenCasts();
  if (const auto *absent = dyn_cast<CXXDefaultArgExpr>(stream))
    return isDefaultStream(absent->getExpr(), work);
  if (isa<CXXNullPtrLiteralExpr, GNUNullExpr, ImplicitValueInitExpr, CXXScalarValueInitExpr>(
          stream))
    return true;
  if (const auto *number = dyn_cast<IntegerLiteral>(stream))
    return number->getValue().ule(2); // 1 is cudaStreamLegacy, 2 is cudaStreamPerThread
  if (const auto *list = dyn_cast<InitListExpr>(stream))
    return list->getNumInits() == 0 ||
           (list->getNumInits() == 1 && isDefaultStream(list->getInit(0), work));
  if (const auto *reference = dyn_cast<DeclRefExpr>(stream)) {
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    // Written more than once, with nothing else than the default stream. Of a value that is such a
    // variable nothing is said: the chain ends.
    const auto isRewritten = [&](const Stmt *part) {
      const auto *named = dyn_cast<DeclRefExpr>(part);
      const auto *other = named ? dyn_cast<VarDecl>(named->getDecl()) : nullptr;
      return other && work.stream_values.contains(other) && !work.initialisers.contains(other);
    };
    if (const auto values = work.stream_values.find(variable);
        isRewritten(reference) && !values->second.empty())
      return llvm::all_of(values->second, [&](const Expr *value) {
        return !contains(value, isRewritten) && isDefaultStream(value, work);
      });
    // A variable declared before this one: the chain ends.
    const auto initialiser = variable ? work.initialisers.find(variable) : work.initialisers.end();
    return initialiser != work.initialisers.end() &&
           initialiser->second->getBeginLoc() < reference->getBeginLoc() &&
           isDefaultStream(initialiser->second, work);
  }
  if (const auto *choice = dyn_cast<ConditionalOperator>(stream)) {
    // Where a device is asked for, the other branch is that of the host.
    const bool asks = contains(choice->getCond(), [](const Stmt *part) {
      const auto *call = dyn_cast<CallExpr>(part);
      const FunctionDecl *callee = call ? calledFunction(call) : nullptr;
      return callee && isTorchDecl(callee);
    });
    const auto isCurrent = [](const Expr *branch) {
      const auto *call = dyn_cast<CallExpr>(streamSource(branch));
      return call && isCurrentStreamCall(calledFunction(call));
    };
    const Expr *yes = choice->getTrueExpr(), *no = choice->getFalseExpr();
    const bool yes_is_default = isDefaultStream(yes, work),
               no_is_default = isDefaultStream(no, work);
    return (yes_is_default && no_is_default) ||
           (!asks && ((yes_is_default && isCurrent(no)) || (no_is_default && isCurrent(yes))));
  }
  if (const auto *member = dyn_cast<CXXMemberCallExpr>(stream))
    return isDefaultStream(member->getImplicitObjectArgument(), work);
  if (const auto *call = dyn_cast<CallExpr>(stream)) {
    const FunctionDecl *callee = calledFunction(call);
    return (callee && isTorchDecl(callee) && nameOf(callee) == "getDefaultCUDAStream") ||
           isNullStreamHelper(callee);
  }
  return false;
}

namespace {

// The tensors that an expression comes to, through pointers taken from them a few lines before.
class Mentions : public AstVisitor {

public:
  Mentions(const CudaWork &work, bool sizes_too) : work_(work), sizes_too_(sizes_too) {}
  llvm::SmallVector<const ValueDecl *, 4> found;

  bool TraverseStmt(Stmt *statement, DataRecursionQueue * = nullptr) override {
    const auto *expr = dyn_cast_or_null<Expr>(statement);
    // A number says nothing of where memory is.
    if (!sizes_too_ && expr && !expr->getType().isNull() && expr->getType()->isArithmeticType())
      return true;
    return AstVisitor::TraverseStmt(statement);
  }
  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    note(reference->getDecl());
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    const auto initialiser = variable && variable->getType()->isPointerType()
                                 ? work_.initialisers.find(variable)
                                 : work_.initialisers.end();
    return initialiser == work_.initialisers.end() || !followed_.insert(variable).second ||
           TraverseStmt(const_cast<Expr *>(initialiser->second));
  }
  bool VisitMemberExpr(MemberExpr *member) override {
    if (!sizes_too_)
      note(member->getMemberDecl());
    return true;
  }

private:
  void note(const ValueDecl *decl) {
    if (llvm::is_contained(work_.tensors, decl) && !llvm::is_contained(found, decl))
      found.push_back(decl);
  }

  const CudaWork &work_;
  bool sizes_too_;
  llvm::SmallPtrSet<const VarDecl *, 4> followed_;
};

} // namespace

llvm::SmallVector<const ValueDecl *, 4> CudaProgram::tensorsOf(const Expr *call,
                                                               const CudaWork &work) {
  Mentions mentions(work, /*sizes_too=*/false);
  const auto *member = dyn_cast<CXXMemberCallExpr>(call);
  if (const Expr *object = member ? member->getImplicitObjectArgument() : nullptr)
    mentions.TraverseStmt(const_cast<Expr *>(object));
  if (const auto *with_arguments = dyn_cast<CallExpr>(call)) {
    for (const Expr *argument : with_arguments->arguments())
      mentions.TraverseStmt(const_cast<Expr *>(argument));
  } else {
    for (const Stmt *part : call->children())
      if (part)
        mentions.TraverseStmt(const_cast<Stmt *>(part));
  }
  return mentions.found;
}

const ValueDecl *CudaProgram::tensorOf(const Expr *call, const CudaWork &work) {
  if (const auto given = tensorsOf(call, work); !given.empty()) {
    const auto variable = llvm::find_if(given, [](const ValueDecl *d) { return isa<VarDecl>(d); });
    return variable == given.end() ? given.front() : *variable;
  }
  Mentions mentions(work, /*sizes_too=*/true);
  for (const Stmt *part : call->children())
    if (part)
      mentions.TraverseStmt(const_cast<Stmt *>(part));
  if (!mentions.found.empty())
    return mentions.found.front();
  return work.tensors.empty() ? nullptr : work.tensors.front();
}

} // namespace devsan::analyzer
