#include "analyzer/support/cuda_work.h"

#include "analyzer/support/torch_api.h"

#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringSwitch.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

// Deeper chains of helpers are not followed; it also ends recursion.
constexpr unsigned kMaxCalls = 6;

const FunctionDecl *pattern(const FunctionDecl *function) {
  if (const FunctionDecl *written = function->getTemplateInstantiationPattern())
    function = written;
  return function->getCanonicalDecl();
}

bool isStreamHandle(QualType type) {
  const auto *typedef_type = type->getAs<TypedefType>();
  if (typedef_type && typedef_type->getDecl()->getName() == "cudaStream_t")
    return true;
  const QualType pointee = type.getCanonicalType()->getPointeeType();
  const auto *record = pointee.isNull() ? nullptr : pointee->getAsRecordDecl();
  return record && (record->getName() == "CUstream_st" || record->getName() == "ihipStream_t");
}

// Where a CUDA function takes its stream, counted from 0; nothing where it takes none that orders
// work.
std::optional<unsigned> streamParameter(llvm::StringRef name) {
  const int index = llvm::StringSwitch<int>(name)
                        .Case("cudaLaunchKernel", 5)
                        .Case("cudaLaunchCooperativeKernel", 5)
                        .Case("cuLaunchKernel", 8)
                        .Case("cudaMemcpyAsync", 4)
                        .Case("cudaMemsetAsync", 3)
                        .Case("cuMemcpyHtoDAsync", 3)
                        .Case("cuMemcpyDtoHAsync", 3)
                        .Case("cudaMemcpy2DAsync", 7)
                        .Case("cudaMemcpyPeerAsync", 5)
                        .Case("cublasSetStream_v2", 1)
                        .Case("cusparseSetStream", 1)
                        .Case("cusolverDnSetStream", 1)
                        .Case("curandSetStream", 1)
                        .Case("cudnnSetStream", 1)
                        .Case("cufftSetStream", 1)
                        .Default(-1);
  return index < 0 ? std::nullopt : std::optional<unsigned>(index);
}

bool isKernelLaunch(llvm::StringRef name) {
  return name.starts_with("cudaLaunchKernel") || name == "cudaLaunchCooperativeKernel" ||
         name.starts_with("cuLaunchKernel") || name.starts_with("hipLaunchKernel");
}

bool isCurrentStreamCall(const FunctionDecl *callee) {
  return callee && isTorchDecl(callee) && nameOf(callee) == "getCurrentCUDAStream";
}

// A guard, or an optional or pointer to one that is set later.
bool isGuard(QualType type) {
  if (isDeviceGuard(type))
    return true;
  const auto *record = type->getAsCXXRecordDecl();
  const auto *specialization = dyn_cast_or_null<ClassTemplateSpecializationDecl>(record);
  return specialization && specialization->getTemplateArgs().size() &&
         specialization->getTemplateArgs()[0].getKind() == TemplateArgument::Type &&
         isDeviceGuard(specialization->getTemplateArgs()[0].getAsType());
}

// An optional guard that was given no device does not guard yet.
bool isEmptyGuard(const VarDecl *variable) {
  const auto *construct = dyn_cast_or_null<CXXConstructExpr>(
      variable->getInit() ? variable->getInit()->IgnoreImplicit() : nullptr);
  return construct &&
         (construct->getNumArgs() == 0 || isa<CXXDefaultArgExpr>(construct->getArg(0)));
}

// The class restores in its destructor what it sets in its constructor: a guard of the project's
// own.
bool isOwnGuard(const CXXRecordDecl *record) {
  const CXXDestructorDecl *destructor =
      record && record->hasDefinition() ? record->getDestructor() : nullptr;
  const FunctionDecl *definition = nullptr;
  if (!destructor || !destructor->hasBody(definition))
    return false;
  struct Visitor : RecursiveASTVisitor<Visitor> {
    bool found = false;
    bool VisitCallExpr(CallExpr *call) {
      found |= setsDevice(call);
      return !found;
    }
  } visitor;
  visitor.TraverseStmt(definition->getBody());
  return visitor.found;
}

// Walks one function in the order of its source and keeps what holds at each point.
class Collector : public RecursiveASTVisitor<Collector> {
  using Base = RecursiveASTVisitor<Collector>;

public:
  explicit Collector(CudaWork &work) : work_(work) {
    for (const ParmVarDecl *parameter : work.function->parameters())
      noteTensor(parameter);
    bodies_.push_back({work.function->getBody()});
    TraverseStmt(work.function->getBody());
    for (const VarDecl *variable : written_)
      work.initialisers.erase(variable);
  }

  bool TraverseCompoundStmt(CompoundStmt *block, DataRecursionQueue * = nullptr) {
    const bool guarded = guard_live_;
    for (Stmt *statement : block->body()) {
      const bool is_step = block->getBeginLoc().isFileID() && statement->getBeginLoc().isFileID();
      if (is_step)
        path_.push_back({block, statement});
      const Stmt *outer_statement = statement_;
      if (block == bodies_.back().body)
        statement_ = statement;
      TraverseStmt(statement);
      statement_ = outer_statement;
      if (is_step)
        path_.pop_back();
    }
    guard_live_ = guarded;
    return true;
  }

  bool TraverseLambdaExpr(LambdaExpr *lambda, DataRecursionQueue * = nullptr) {
    bodies_.push_back({lambda->getBody(), thread_argument_});
    const bool outer = std::exchange(thread_argument_, false);
    TraverseStmt(lambda->getBody());
    thread_argument_ = outer;
    bodies_.pop_back();
    return true;
  }

  // A thread starts with a current device of its own.
  bool TraverseCXXConstructExpr(CXXConstructExpr *construct, DataRecursionQueue * = nullptr) {
    const llvm::StringRef name = construct->getConstructor()->getParent()->getName();
    const bool outer = thread_argument_;
    thread_argument_ |=
        (name == "thread" || name == "jthread") && isLibraryDecl(construct->getConstructor());
    Base::TraverseCXXConstructExpr(construct);
    thread_argument_ = outer;
    return true;
  }

  // Functions of a class inside the function are functions of their own.
  bool TraverseCXXRecordDecl(CXXRecordDecl *) { return true; }

  bool VisitVarDecl(VarDecl *variable) {
    noteTensor(variable);
    if (variable->isLocalVarDecl() && variable->getInit())
      work_.initialisers[variable] = variable->getInit();
    if ((isGuard(variable->getType()) && !isEmptyGuard(variable)) ||
        isOwnGuard(variable->getType()->getAsCXXRecordDecl()))
      guard_live_ = true;
    if (variable->getInit())
      if (const auto *call = dyn_cast<CallExpr>(streamSource(variable->getInit()));
          call && isCurrentStreamCall(calledFunction(call)) && argumentsOf(call).empty())
        stream_variables_[call] = variable;
    return true;
  }

  bool VisitDeclRefExpr(DeclRefExpr *reference) {
    if (reference->getType()->isUndeducedType())
      return true;
    work_.touches_tensors |= holdsTensor(reference->getType());
    return true;
  }

  bool VisitMemberExpr(MemberExpr *member) {
    if (!isa<CXXMethodDecl>(member->getMemberDecl()) && holdsTensor(member->getType()))
      noteTensor(member->getMemberDecl());
    return true;
  }

  bool VisitBinaryOperator(BinaryOperator *op) {
    if (op->isAssignmentOp())
      noteWrite(op->getLHS());
    return true;
  }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *call) {
    if (call->isAssignmentOp())
      noteWrite(call->getArg(0));
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) {
    if (op->getOpcode() == UO_AddrOf)
      noteWrite(op->getSubExpr());
    return true;
  }

  bool VisitCUDAKernelCallExpr(CUDAKernelCallExpr *call) {
    Launch launch = launchOf(Launch::Kind::kKernel, call);
    const CallExpr *config = call->getConfig();
    if (config && config->getNumArgs() > 3 && !isa<CXXDefaultArgExpr>(config->getArg(3)))
      launch.stream = config->getArg(3);
    work_.launches.push_back(std::move(launch));
    return true;
  }

  bool VisitCallExpr(CallExpr *call) {
    if (isa<CUDAKernelCallExpr>(call))
      return true;
    const FunctionDecl *callee = calledFunction(call);
    if (!callee) {
      if (isGuardSetter(call))
        guard_live_ = true;
      return true;
    }
    if (setsDevice(call) || isGuardSetter(call)) {
      // A device that was set stays so for the rest of the function, also where an `if` set it: it
      // then was the right one.
      (setsDevice(call) ? device_set_ : guard_live_) = true;
      if (setsDevice(call))
        work_.sets.push_back({call, call->getNumArgs() ? call->getArg(0) : nullptr,
                              bodies_.back().body, statement_, bodies_.back().in_new_thread});
      return true;
    }
    if (isCurrentStreamCall(callee)) {
      work_.current_streams.push_back({call, stream_variables_.lookup(call), guarded(), path_});
      return true;
    }
    const llvm::StringRef name = nameOf(callee);
    if (const auto index = streamParameter(name)) {
      Launch launch =
          launchOf(isKernelLaunch(name) ? Launch::Kind::kKernel : Launch::Kind::kCopy, call);
      if (*index < call->getNumArgs() && !isa<CXXDefaultArgExpr>(call->getArg(*index)))
        launch.stream = call->getArg(*index);
      work_.launches.push_back(std::move(launch));
    } else if (isKernelLaunch(name)) {
      Launch launch = launchOf(Launch::Kind::kKernel, call);
      launch.stream_known = false;
      work_.launches.push_back(std::move(launch));
    } else if (!callee->isExternC() && !isLibraryDecl(callee)) {
      noteStreamArgument(call, callee);
      work_.calls.push_back({call, pattern(callee), guarded(), path_});
    }
    return true;
  }

private:
  struct Body {
    const Stmt *body;
    bool in_new_thread = false;
  };

  bool guarded() const { return guard_live_ || device_set_; }

  Launch launchOf(Launch::Kind kind, const CallExpr *call) {
    Launch launch;
    launch.kind = kind;
    launch.expr = call;
    launch.guarded = guarded();
    launch.own_guard = guard_live_;
    launch.path = path_;
    return launch;
  }

  void noteTensor(const ValueDecl *decl) {
    if (decl->getType()->isUndeducedType() || !holdsTensor(decl->getType()))
      return;
    work_.touches_tensors = true;
    if (!llvm::is_contained(work_.tensors, decl))
      work_.tensors.push_back(decl);
  }

  void noteWrite(const Expr *target) {
    if (const auto *reference = dyn_cast<DeclRefExpr>(target->IgnoreParenImpCasts()))
      if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl()))
        written_.insert(variable);
  }

  // `guard.set_index(i)`, `guard.reset_device(d)`, `guard.emplace(d)`: from here on it guards.
  static bool isGuardSetter(const CallExpr *call) {
    const auto *member = dyn_cast<CXXMemberCallExpr>(call);
    if (!member || !member->getMethodDecl() || !isGuard(member->getObjectType()))
      return false;
    const llvm::StringRef name = nameOf(member->getMethodDecl());
    return name.starts_with("set_") || name.starts_with("reset_") || name == "emplace";
  }

  void noteStreamArgument(const CallExpr *call, const FunctionDecl *callee) {
    for (unsigned i = 0; i < call->getNumArgs() && i < callee->getNumParams(); ++i) {
      if (!isStreamHandle(callee->getParamDecl(i)->getType()) || isa<CXXOperatorCallExpr>(call))
        continue;
      Launch launch = launchOf(Launch::Kind::kStreamArgument, call);
      launch.stream = call->getArg(i);
      if (const auto *absent = dyn_cast<CXXDefaultArgExpr>(launch.stream))
        launch.stream = absent->getExpr();
      work_.launches.push_back(std::move(launch));
    }
  }

  // `getCurrentCUDAStream()` in `.stream()`, conversions and copies of it.
  static const Expr *streamSource(const Expr *expr) {
    expr = strip(expr);
    while (const auto *member = dyn_cast<CXXMemberCallExpr>(expr)) {
      if (!isTorchDecl(member->getMethodDecl() ? static_cast<const Decl *>(member->getMethodDecl())
                                               : member->getRecordDecl()))
        break;
      expr = strip(member->getImplicitObjectArgument());
    }
    return expr;
  }

  CudaWork &work_;
  std::vector<Body> bodies_;
  BlockPath path_;
  const Stmt *statement_ = nullptr;
  llvm::DenseMap<const CallExpr *, const VarDecl *> stream_variables_;
  llvm::SmallPtrSet<const VarDecl *, 8> written_;
  bool guard_live_ = false;
  bool device_set_ = false;
  bool thread_argument_ = false;
};

// All functions of the program with a body, each as it is written.
class Functions : public RecursiveASTVisitor<Functions> {
public:
  std::vector<const FunctionDecl *> found;

  bool VisitFunctionDecl(FunctionDecl *function) {
    const auto *method = dyn_cast<CXXMethodDecl>(function);
    if (function->doesThisDeclarationHaveABody() && !(method && method->getParent()->isLambda()))
      found.push_back(function);
    return true;
  }
};

} // namespace

bool setsDevice(const CallExpr *call) {
  const FunctionDecl *callee = calledFunction(call);
  const llvm::StringRef name = nameOf(callee);
  if (name == "cudaSetDevice" || name == "hipSetDevice")
    return !callee->getDeclContext()->isRecord();
  return callee && isTorchDecl(callee) && !callee->getDeclContext()->isRecord() &&
         (name == "set_device" || name == "SetDevice" || name == "MaybeSetDevice" ||
          name == "ExchangeDevice" || name == "MaybeExchangeDevice");
}

const FunctionDecl *calledFunction(const CallExpr *call) {
  if (const FunctionDecl *callee = call->getDirectCallee())
    return callee;
  const auto *overloads = dyn_cast_or_null<OverloadExpr>(call->getCallee()->IgnoreParenImpCasts());
  if (!overloads || overloads->getNumDecls() == 0)
    return nullptr;
  // Of several overloads any stands for all: what is asked of it is its name, or its body where
  // there is one.
  const FunctionDecl *any = nullptr;
  for (const NamedDecl *decl : overloads->decls())
    if (const FunctionDecl *function = decl->getUnderlyingDecl()->getAsFunction())
      any = !any || function->hasBody() ? function : any;
  return any;
}

CudaProgram::CudaProgram(ASTContext &context) {
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
  for (const FunctionDecl *function : functions.found) {
    index_[function->getCanonicalDecl()] = functions_.size();
    functions_.emplace_back().function = function;
    Collector collector(functions_.back());
  }
  for (const CudaWork &work : functions_)
    for (const WorkCall &call : work.calls)
      if (call.callee != work.function->getCanonicalDecl())
        callers_[call.callee].push_back({&work, &call});
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
  const auto found = index_.find(pattern(function));
  return found == index_.end() ? nullptr : &functions_[found->second];
}

bool CudaProgram::servesTensors(const CudaWork &work) const {
  return servesTensors(work, 0);
}

bool CudaProgram::servesTensors(const CudaWork &work, unsigned depth) const {
  if (work.touches_tensors)
    return true;
  const auto callers = callers_.find(work.function->getCanonicalDecl());
  return depth < kMaxCalls && callers != callers_.end() &&
         llvm::any_of(
             callers->second,
             [&](const Caller &caller) { return servesTensors(*caller.work, depth + 1); });
}

bool CudaProgram::callersGuard(const CudaWork &work) const {
  return callersGuard(work, 0);
}

bool CudaProgram::callersGuard(const CudaWork &work, unsigned depth) const {
  const auto callers = callers_.find(work.function->getCanonicalDecl());
  return depth < kMaxCalls && callers != callers_.end() &&
         llvm::all_of(
             callers->second,
             [&](const Caller &caller) {
               return caller.call->guarded || callersGuard(*caller.work, depth + 1);
             });
}

const Launch *CudaProgram::bareLaunch(const FunctionDecl *function) const {
  return bareLaunch(function, 0);
}

const Launch *CudaProgram::bareLaunch(const FunctionDecl *function, unsigned depth) const {
  const CudaWork *work = this->work(function);
  if (!work || work->touches_tensors || depth > kMaxCalls)
    return nullptr;
  for (const Launch &launch : work->launches)
    if (launch.kind == Launch::Kind::kKernel && !launch.guarded)
      return &launch;
  for (const WorkCall &call : work->calls)
    if (!call.guarded)
      if (const Launch *launch = bareLaunch(call.callee, depth + 1))
        return launch;
  return nullptr;
}

bool CudaProgram::isDefaultStream(const Expr *stream, const CudaWork &work) {
  stream = strip(stream)->IgnoreParenCasts();
  if (const auto *absent = dyn_cast<CXXDefaultArgExpr>(stream))
    return isDefaultStream(absent->getExpr(), work);
  if (isa<CXXNullPtrLiteralExpr, GNUNullExpr, ImplicitValueInitExpr, CXXScalarValueInitExpr>(
          stream))
    return true;
  if (const auto *number = dyn_cast<IntegerLiteral>(stream))
    return number->getValue().ule(1); // 1 is cudaStreamLegacy
  if (const auto *list = dyn_cast<InitListExpr>(stream))
    return list->getNumInits() == 0 ||
           (list->getNumInits() == 1 && isDefaultStream(list->getInit(0), work));
  if (const auto *reference = dyn_cast<DeclRefExpr>(stream)) {
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    // A variable declared before this one: the chain ends.
    const auto initialiser = variable ? work.initialisers.find(variable) : work.initialisers.end();
    return initialiser != work.initialisers.end() &&
           initialiser->second->getBeginLoc() < reference->getBeginLoc() &&
           isDefaultStream(initialiser->second, work);
  }
  if (const auto *member = dyn_cast<CXXMemberCallExpr>(stream))
    return isDefaultStream(member->getImplicitObjectArgument(), work);
  if (const auto *call = dyn_cast<CallExpr>(stream)) {
    const FunctionDecl *callee = calledFunction(call);
    return callee && isTorchDecl(callee) && nameOf(callee) == "getDefaultCUDAStream";
  }
  return false;
}

const ValueDecl *CudaProgram::tensorOf(const CallExpr *call, const CudaWork &work) {
  struct Visitor : RecursiveASTVisitor<Visitor> {
    explicit Visitor(const CudaWork &work) : work(work) {}
    bool VisitDeclRefExpr(DeclRefExpr *reference) {
      if (llvm::is_contained(work.tensors, reference->getDecl())) {
        found = reference->getDecl();
        return false;
      }
      // A pointer taken from a tensor a few lines before.
      const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
      const auto initialiser = variable && variable->getType()->isPointerType()
                                   ? work.initialisers.find(variable)
                                   : work.initialisers.end();
      return initialiser == work.initialisers.end() || !followed.insert(variable).second ||
             TraverseStmt(const_cast<Expr *>(initialiser->second));
    }
    const CudaWork &work;
    llvm::SmallPtrSet<const VarDecl *, 4> followed;
    const ValueDecl *found = nullptr;
  } visitor(work);
  for (const Expr *argument : call->arguments())
    if (!visitor.TraverseStmt(const_cast<Expr *>(argument)))
      break;
  if (visitor.found)
    return visitor.found;
  return work.tensors.empty() ? nullptr : work.tensors.front();
}

} // namespace devsan::analyzer
