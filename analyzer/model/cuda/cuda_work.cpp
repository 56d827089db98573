#include "analyzer/model/cuda/cuda_work.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/device_guards.h"
#include "analyzer/ast/told_device.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/ast/unresolved_code.h"
#include "analyzer/model/cuda/launch_configurations.h"
#include "analyzer/model/cuda/library_handles.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

// Walks one function in the order of its source and keeps what holds at each point.
class CudaWorkCollector : public AstVisitor {
public:
  CudaWorkCollector(CudaWork &work, const DeviceHelpers &helpers) : work_(work), helpers_(helpers) {
    for (const ParmVarDecl *parameter : work.function->parameters())
      noteTensor(parameter);
    bodies_.push_back({work.function->getBody()});
    if (const auto *method = dyn_cast<CXXMethodDecl>(work.function);
        method && !method->isStatic() && holdsGuard(method->getParent()))
      work.in_guard = guard_live_ = guard_seen_ = true;
    if (const auto *constructor = dyn_cast<CXXConstructorDecl>(work.function))
      for (const CXXCtorInitializer *initializer : constructor->inits())
        if (const FieldDecl *member = initializer->getAnyMember();
            member && initializer->isWritten() && isThread(member->getType()))
          withThreads(true, [&] { TraverseStmt(initializer->getInit()); });
    TraverseStmt(work.function->getBody());
    traverseUncalledLambdas();
    for (const VarDecl *variable : written_)
      work.initialisers.erase(variable);
    for (const VarDecl *variable : filled_)
      work.stream_values.erase(variable);
    configurations_.resolve(work.launches);
    // Of a library's calls, those that are given memory of tensors work on the device; without
    // tensors, those that are given memory of the callers'.
    llvm::erase_if(work.launches, [&](const Launch &launch) {
      return library_calls_.contains(launch.expr) &&
             CudaProgram::tensorsOf(launch.expr, work).empty() &&
             (work.touches_tensors || !givesMemory(argumentsOf(cast<CallExpr>(launch.expr))));
    });
    // A guard whose class was not found leaves nothing behind in a file with errors: its name in
    // the text has to do.
    if (!guard_seen_ && context().getDiagnostics().hasErrorOccurred() &&
        namesGuard(textOf(context(), work.function->getBody()->getSourceRange())))
      assumeGuarded();
  }

  bool TraverseCompoundStmt(CompoundStmt *block, DataRecursionQueue * = nullptr) override {
    const bool guarded = guard_live_;
    for (Stmt **next = block->body_begin(); next != block->body_end(); ++next) {
      Stmt *statement = *next;
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
      // What stands behind is never reached, unless something before it did not parse.
      if (isa<ReturnStmt>(statement) && !context().getDiagnostics().hasErrorOccurred() &&
          std::none_of(next, block->body_end(), holdsEntry))
        break;
    }
    guard_live_ = guarded;
    return true;
  }

  // Its body runs where it is called, not where it is written: a guard may be set in between.
  bool TraverseVarDecl(VarDecl *variable) override {
    if (const auto *lambda =
            variable->getInit() ? dyn_cast<LambdaExpr>(strip(variable->getInit())) : nullptr) {
      lambdas_[variable] = const_cast<LambdaExpr *>(lambda);
      return true;
    }
    return AstVisitor::TraverseVarDecl(variable);
  }

  bool TraverseLambdaExpr(LambdaExpr *lambda, DataRecursionQueue * = nullptr) override {
    const bool in_new_thread = std::exchange(thread_argument_, false);
    const bool guard_live = guard_live_;
    const bool device_set = device_set_;
    // A thread starts with a current device of its own.
    if (in_new_thread)
      guard_live_ = device_set_ = false;
    const bool is_guarded = guarded_lambdas_.contains(lambda);
    guard_live_ |= is_guarded;
    guard_seen_ |= is_guarded;
    bodies_.push_back({lambda->getBody(), in_new_thread || bodies_.back().in_new_thread});
    TraverseStmt(lambda->getBody());
    bodies_.pop_back();
    thread_argument_ = in_new_thread;
    if (in_new_thread)
      device_set_ = device_set;
    if (in_new_thread || is_guarded)
      guard_live_ = guard_live;
    return true;
  }

  bool TraverseCXXConstructExpr(CXXConstructExpr *construct,
                                DataRecursionQueue * = nullptr) override {
    return withThreads(isThread(construct->getType()),
                       [&] { AstVisitor::TraverseCXXConstructExpr(construct); });
  }
  // `std::thread(&Worker::run, this)`.
  bool TraverseCXXTemporaryObjectExpr(CXXTemporaryObjectExpr *construct,
                                      DataRecursionQueue * = nullptr) override {
    return withThreads(isThread(construct->getType()),
                       [&] { AstVisitor::TraverseCXXTemporaryObjectExpr(construct); });
  }
  // `std::async(…)`, `threads.emplace_back(…)`.
  bool TraverseCallExpr(CallExpr *call, DataRecursionQueue * = nullptr) override {
    const FunctionDecl *callee = call->getDirectCallee();
    noteGuardedLambdas(call);
    return withThreads(nameOf(callee) == "async" && isLibraryDecl(callee),
                       [&] { AstVisitor::TraverseCallExpr(call); });
  }
  bool TraverseCXXMemberCallExpr(CXXMemberCallExpr *call, DataRecursionQueue * = nullptr) override {
    const CXXMethodDecl *method = call->getMethodDecl();
    noteGuardedLambdas(call);
    const auto *container =
        method ? dyn_cast<ClassTemplateSpecializationDecl>(method->getParent()) : nullptr;
    return withThreads(container && isLibraryDecl(container) &&
                           container->getTemplateArgs().size() > 0 &&
                           container->getTemplateArgs()[0].getKind() == TemplateArgument::Type &&
                           isThread(container->getTemplateArgs()[0].getAsType()),
                       [&] { AstVisitor::TraverseCXXMemberCallExpr(call); });
  }

  // Functions of a class inside the function are functions of their own.
  bool TraverseCXXRecordDecl(CXXRecordDecl *) override { return true; }

  bool VisitExpr(Expr *expr) override {
    if (guard_live_)
      work_.under_guard.insert(expr);
    return true;
  }

  bool VisitVarDecl(VarDecl *variable) override {
    noteTensor(variable);
    const Expr *init = variable->getInit();
    if (variable->isLocalVarDecl() && isStreamHandle(variable->getType()) && !init)
      work_.stream_values[variable];
    if (variable->isLocalVarDecl() && init) {
      work_.initialisers[variable] = init;
      if (isStreamHandle(variable->getType()))
        work_.stream_values[variable].push_back(init);
      if (isa<CXXNullPtrLiteralExpr, GNUNullExpr, IntegerLiteral>(strip(init)->IgnoreParenCasts()))
        null_pointers_.insert(variable);
    }
    if (startsGuard(variable))
      beginGuard(init);
    if (!guarded()) {
      handles_.noteDeclared(variable);
      if (isDeviceContainer(variable->getType()) && init)
        work_.made_on_current.push_back({init, path_});
    }
    if (init)
      if (const auto *call = dyn_cast<CallExpr>(streamSource(init));
          call && isCurrentStreamCall(calledFunction(call)) && argumentsOf(call).empty())
        stream_variables_[call] = variable;
    return true;
  }

  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl()))
      if (const auto lambda = lambdas_.find(variable); lambda != lambdas_.end()) {
        LambdaExpr *expr = lambda->second;
        lambdas_.erase(lambda);
        TraverseLambdaExpr(expr);
      }
    if (const auto *function = dyn_cast<FunctionDecl>(reference->getDecl()))
      noteFunction(function);
    if (reference->getType()->isUndeducedType())
      return true;
    work_.touches_tensors |= holdsTensor(reference->getType());
    return true;
  }

  bool VisitMemberExpr(MemberExpr *member) override {
    if (const auto *function = dyn_cast<CXXMethodDecl>(member->getMemberDecl()))
      noteFunction(function);
    if (!isa<CXXMethodDecl>(member->getMemberDecl()) && holdsTensor(member->getType()))
      noteTensor(member->getMemberDecl());
    return true;
  }

  bool VisitBinaryOperator(BinaryOperator *op) override {
    // `TORCH_CHECK(x.get_device() == current_device())`: from there on it is the right one.
    if (comparesWithCurrentDevice(op))
      device_set_ = guard_seen_ = true;
    if (!op->isAssignmentOp())
      return true;
    noteWrite(op->getLHS(), op->getRHS());
    configurations_.noteAssignment(op);
    return true;
  }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *call) override {
    if (call->isAssignmentOp())
      noteWrite(call->getArg(0));
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) override {
    if (op->getOpcode() == UO_AddrOf || op->isIncrementDecrementOp())
      noteWrite(op->getSubExpr());
    return true;
  }

  bool VisitCUDAKernelCallExpr(CUDAKernelCallExpr *call) override {
    Launch &launch = addLaunch(Launch::Kind::kKernel, call);
    const CallExpr *config = call->getConfig();
    if (config && config->getNumArgs() > 3 && !isa<CXXDefaultArgExpr>(config->getArg(3)))
      launch.stream = config->getArg(3);
    return true;
  }

  // What could not be resolved, such as a call of a function whose header is missing.
  bool VisitRecoveryExpr(RecoveryExpr *expr) override {
    if (const auto stream = unresolvedLaunch(textOf(context(), expr->getSourceRange()))) {
      addLaunch(Launch::Kind::kKernel, expr).stream_known = *stream == LaunchText::kDefaultStream;
      return true;
    }
    noteUnresolvedCall(expr, expr->subExpressions(), givesMemory(expr->subExpressions()));
    return true;
  }

  bool VisitCallExpr(CallExpr *call) override {
    if (isa<CUDAKernelCallExpr>(call))
      return true;
    if (const ParmVarDecl *parameter = calledParameter(call))
      work_.called_parameters.push_back({parameter, guard_live_});
    if (!guarded() && makesOnCurrentDevice(call))
      work_.made_on_current.push_back({call, path_});
    if (isGuardSetter(call)) {
      beginGuard(call);
      // To the end of the guard's scope, which is not that of an `if` around the call.
      device_set_ = true;
      return true;
    }
    const FunctionDecl *callee = calledFunction(call);
    if (!callee) {
      // What is declared somewhere in the file, or known to a template's user only, is silent.
      const llvm::ArrayRef<const Expr *> arguments(call->getArgs(), call->getNumArgs());
      const bool gives_memory = givesMemory(arguments);
      if ((gives_memory || !CudaProgram::tensorsOf(call, work_).empty()) && callsUndeclared(call) &&
          !isOfToldObject(call))
        noteUnresolvedCall(call, arguments, gives_memory);
      return true;
    }
    const llvm::StringRef name = nameOf(callee);
    if (setsDevice(call)) {
      // A device that was set stays so for the rest of the function, also where an `if` set it: it
      // then was the right one.
      device_set_ = guard_seen_ = true;
      work_.sets.push_back({call, call->getNumArgs() ? call->getArg(0) : nullptr,
                            bodies_.back().body, statement_, bodies_.back().in_new_thread});
    } else if (isCurrentStreamCall(callee)) {
      work_.current_streams.push_back({call, stream_variables_.lookup(call), guarded(), path_});
    } else if (asksCurrentDevice(callee)) {
      work_.queries.push_back({call, guarded(), nullptr, path_});
    } else if (!callee->getDeclContext()->isRecord() && noteCudaCall(call, callee, name)) {
      // One of CUDA's own.
    } else if (isThrustOnDefaultStream(call, callee)) {
      addLaunch(Launch::Kind::kAlgorithm, call);
    } else if (!isLibraryDecl(callee) && !isCudaApi(callee)) {
      noteStreamArgument(call, callee);
      for (const FunctionDecl *possible : possibleCallees(callee))
        work_.calls.push_back({call, possible, guarded(), bodies_.back().in_new_thread, path_});
      if (helpers_.setters.contains(writtenFunction(callee)))
        device_set_ = guard_seen_ = true;
    }
    return true;
  }

private:
  struct Body {
    const Stmt *body;
    bool in_new_thread = false;
  };

  const ASTContext &context() const { return work_.function->getASTContext(); }
  bool guarded() const { return guard_live_ || device_set_; }

  void noteFunction(const FunctionDecl *function) {
    if (!isLibraryDecl(function) && !isCudaApi(function))
      work_.named_functions.push_back(
          {writtenFunction(function), thread_argument_ || bodies_.back().in_new_thread});
  }

  void noteUnresolvedCall(const Expr *expr, llvm::ArrayRef<const Expr *> parts, bool gives_memory) {
    const llvm::StringRef text = textOf(context(), expr->getSourceRange());
    const llvm::StringRef callee = text.take_until([](char c) { return c == '('; });
    const bool is_handed =
        llvm::any_of(parts, [](const Expr *part) { return isStream(part->getType()); });
    if (is_handed && !namesLibraryFunction(text) && !namesAllocation(callee) &&
        !anyNamesDevice(parts))
      work_.handed_streams.push_back(
          {expr, gives_memory, guarded(), bodies_.back().in_new_thread, path_});
  }

  // What calls them is in a statement or macro that did not parse, where any guard may be live.
  void traverseUncalledLambdas() {
    while (!lambdas_.empty() && context().getDiagnostics().hasErrorOccurred()) {
      LambdaExpr *lambda = lambdas_.back().second;
      lambdas_.pop_back();
      guard_live_ |= guard_seen_;
      TraverseLambdaExpr(lambda);
    }
  }

  void noteGuardedLambdas(const CallExpr *call) {
    const FunctionDecl *callee =
        helpers_.guarded_callbacks.empty() ? nullptr : calledFunction(call);
    if (callee && callee->getTemplateInstantiationPattern(/*ForDefinition=*/false))
      callee = callee->getTemplateInstantiationPattern(/*ForDefinition=*/false);
    const FunctionDecl *definition = nullptr;
    if (!callee || !callee->isDefined(definition))
      return;
    for (unsigned i = 0; i < call->getNumArgs() && i < definition->getNumParams(); ++i)
      if (helpers_.guarded_callbacks.contains(definition->getParamDecl(i)))
        if (const LambdaExpr *lambda = lambdaIn(call->getArg(i)))
          guarded_lambdas_.insert(lambda);
  }

  const LambdaExpr *lambdaIn(const Expr *expr) const {
    expr = strip(expr);
    // As a std::function.
    if (const auto *wrapped = dyn_cast<CXXConstructExpr>(expr); wrapped && wrapped->getNumArgs())
      return lambdaIn(wrapped->getArg(0));
    if (const auto *reference = dyn_cast<DeclRefExpr>(expr))
      return lambdas_.lookup(dyn_cast<VarDecl>(reference->getDecl()));
    return dyn_cast<LambdaExpr>(expr);
  }

  void beginGuard(const Expr *device) {
    guard_live_ = guard_seen_ = true;
    for (DeviceQuery &query : work_.queries)
      if (!query.guarded && !query.guard_device && !areAlternatives(query.path, path_))
        query.guard_device = device;
  }

  template <typename Action> bool withThreads(bool starts_thread, Action action) {
    const bool outer = thread_argument_;
    thread_argument_ |= starts_thread;
    action();
    thread_argument_ = outer;
    return true;
  }

  Launch &addLaunch(Launch::Kind kind, const Expr *call) {
    Launch &launch = work_.launches.emplace_back();
    launch.kind = kind;
    launch.expr = call;
    launch.guarded = guarded();
    launch.own_guard = guard_live_;
    launch.in_new_thread = bodies_.back().in_new_thread;
    launch.path = path_;
    return launch;
  }

  bool noteCudaCall(const CallExpr *call, const FunctionDecl *callee, llvm::StringRef name) {
    if (const auto index = streamParameter(callee)) {
      Launch &launch =
          addLaunch(isKernelLaunch(name) ? Launch::Kind::kKernel : Launch::Kind::kCopy, call);
      if (*index < call->getNumArgs() && !isa<CXXDefaultArgExpr>(call->getArg(*index)))
        launch.stream = call->getArg(*index);
      return true;
    }
    if (isKernelLaunch(name)) {
      Launch &launch = addLaunch(Launch::Kind::kKernel, call);
      launch.stream_known = false;
      configurations_.noteLaunch(call, work_.launches.size() - 1);
      return true;
    }
    if (isCudaApi(callee) && !guarded())
      handles_.noteMade(call);
    const std::optional<unsigned> own_stream = LibraryHandles::toldStream(callee);
    if (isCudaApi(callee) && !isHostOnly(name) &&
        (own_stream || handles_.isOnCurrentDevice(call, work_))) {
      Launch &launch = addLaunch(Launch::Kind::kAlgorithm, call);
      launch.stream = own_stream ? passedFor(call, callee, *own_stream) : nullptr;
      launch.stream_known = launch.stream && !isa<PackExpansionExpr>(launch.stream);
      library_calls_.insert(call);
      return true;
    }
    const bool copies = usesDefaultStreamOnly(name) && isCudaApi(callee);
    if (copies)
      addLaunch(Launch::Kind::kCopy, call);
    return copies;
  }

  void noteTensor(const ValueDecl *decl) {
    if (decl->getType()->isUndeducedType() || !holdsTensor(decl->getType()))
      return;
    work_.touches_tensors = true;
    if (!llvm::is_contained(work_.tensors, decl))
      work_.tensors.push_back(decl);
  }

  void noteWrite(const Expr *target, const Expr *value = nullptr) {
    if (const auto *reference = dyn_cast<DeclRefExpr>(target->IgnoreParenImpCasts()))
      if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl())) {
        if (const auto stream = work_.stream_values.find(variable);
            value && stream != work_.stream_values.end())
          stream->second.push_back(value);
        else
          filled_.insert(variable);
        written_.insert(variable);
        null_pointers_.erase(variable);
      }
  }

  bool isSizeQuery(const CallExpr *call) const {
    if (isCubSizeQuery(call))
      return true;
    const auto *memory = call->getNumArgs()
                             ? dyn_cast<DeclRefExpr>(call->getArg(0)->IgnoreParenImpCasts())
                             : nullptr;
    return memory && null_pointers_.contains(dyn_cast<VarDecl>(memory->getDecl()));
  }

  void noteStreamArgument(const CallExpr *call, const FunctionDecl *callee) {
    const bool is_algorithm = isCubAlgorithm(callee);
    if (is_algorithm && isSizeQuery(call))
      return;
    const auto index = declaredStreamParameter(callee);
    const Expr *stream =
        index && putsWorkOnStream(callee, *index) ? passedFor(call, callee, *index) : nullptr;
    if (stream) {
      Launch &launch =
          addLaunch(is_algorithm ? Launch::Kind::kAlgorithm : Launch::Kind::kStreamArgument, call);
      launch.stream = stream;
    }
    const bool is_handed =
        stream || llvm::any_of(call->arguments(), [](const Expr *argument) {
          return isStream(argument->getType()) || holdsStream(argument->getType());
        });
    if (is_handed && !is_algorithm &&
        llvm::none_of(possibleCallees(callee),
                      [](const FunctionDecl *possible) { return possible->isDefined(); }) &&
        !isOfToldObject(call) &&
        !anyNamesDevice(llvm::ArrayRef(call->getArgs(), call->getNumArgs())))
      work_.handed_streams.push_back(
          {call, /*unresolved=*/false, guarded(), bodies_.back().in_new_thread, path_});
  }

  void assumeGuarded() {
    const auto guard = [](auto &works) {
      for (auto &work : works)
        work.guarded = true;
    };
    guard(work_.launches);
    guard(work_.calls);
    guard(work_.handed_streams);
    guard(work_.current_streams);
  }

  CudaWork &work_;
  const DeviceHelpers &helpers_;
  std::vector<Body> bodies_;
  BlockPath path_;
  const Stmt *statement_ = nullptr;
  llvm::DenseMap<const CallExpr *, const VarDecl *> stream_variables_;
  llvm::MapVector<const VarDecl *, LambdaExpr *> lambdas_; // not called yet
  LaunchConfigurations configurations_;
  LibraryHandles handles_;
  llvm::SmallPtrSet<const VarDecl *, 8> written_;
  llvm::SmallPtrSet<const VarDecl *, 4> filled_; // through their address
  llvm::SmallPtrSet<const LambdaExpr *, 2> guarded_lambdas_;
  llvm::SmallPtrSet<const VarDecl *, 8> null_pointers_;
  llvm::SmallPtrSet<const Expr *, 2> library_calls_;
  bool guard_live_ = false;
  bool device_set_ = false;
  bool guard_seen_ = false;
  bool thread_argument_ = false;
};

} // namespace

CudaWork collectWork(const FunctionDecl *function, const DeviceHelpers &helpers) {
  CudaWork work;
  work.function = function;
  CudaWorkCollector collector(work, helpers);
  return work;
}

} // namespace devsan::analyzer
