#include "analyzer/model/cuda/side_streams.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/host_copies.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

const VarDecl *namedVariable(const Expr *expr) {
  expr = strip(expr);
  while (const auto *member = dyn_cast<CXXMemberCallExpr>(expr)) {
    if (!member->getMethodDecl() || !isTorchDecl(member->getMethodDecl()))
      return nullptr;
    expr = strip(member->getImplicitObjectArgument());
  }
  const auto *reference = dyn_cast<DeclRefExpr>(expr);
  return reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
}

bool callsNamed(const Stmt *statement, llvm::StringRef name) {
  struct Visitor : AstVisitor {
    explicit Visitor(llvm::StringRef name) : name(name) {}
    bool VisitCallExpr(CallExpr *call) override {
      found |= nameOf(calledFunction(call)) == name;
      return !found;
    }
    llvm::StringRef name;
    bool found = false;
  } visitor(name);
  visitor.TraverseStmt(const_cast<Stmt *>(statement));
  return visitor.found;
}

bool isStreamGuard(const VarDecl *variable) {
  const auto *record = variable->getType()->getAsCXXRecordDecl();
  return record && record->getDeclName().isIdentifier() && isTorchDecl(record) &&
         record->getName().ends_with("StreamGuard");
}

class SideStreamCollector : public AstVisitor {

public:
  std::vector<SideUse> uses;

  explicit SideStreamCollector(const CudaWork &work) : work_(work) {
    TraverseStmt(work.function->getBody());
    llvm::erase_if(uses, [&](const SideUse &use) {
      return kept_.contains(use.tensor.as<VarDecl>()) ||
             recorded_.contains({use.tensor.as<VarDecl>(), use.stream.as<VarDecl>()});
    });
    for (SideUse &use : uses)
      use.recorded = recorded_elsewhere_.lookup(use.tensor.as<VarDecl>());
  }

  bool TraverseCompoundStmt(CompoundStmt *block, DataRecursionQueue * = nullptr) override {
    const VarDecl *outer = current_;
    for (Stmt *statement : block->body())
      TraverseStmt(statement);
    current_ = outer;
    return true;
  }
  bool TraverseLambdaExpr(LambdaExpr *lambda, DataRecursionQueue * = nullptr) override {
    // A copy may live on, with the function object.
    for (const LambdaCapture &capture : lambda->captures())
      if (capture.capturesVariable() && capture.getCaptureKind() == LCK_ByCopy)
        if (const auto *variable = dyn_cast<VarDecl>(capture.getCapturedVar()))
          kept_.insert(variable);
    return TraverseStmt(lambda->getBody());
  }

  bool VisitVarDecl(VarDecl *variable) override {
    if (isStreamGuard(variable)) {
      current_ = guardedStream(variable);
    } else if (isTensor(variable->getType()) && variable->isLocalVarDecl() &&
               !variable->isStaticLocal() && !variable->getType()->isReferenceType() &&
               variable->getInit() && !current_) {
      const auto *made = dyn_cast<CallExpr>(strip(variable->getInit()));
      if (made && isFactory(calledFunction(made)))
        own_.insert(variable);
      else
        keepIn(variable->getInit());
    } else if (variable->getInit()) {
      if (callsNamed(variable->getInit(), "getStreamFromPool") &&
          !variable->getType()->isArrayType())
        side_.insert(variable);
      else
        keepIn(variable->getInit());
    }
    return true;
  }

  bool VisitReturnStmt(ReturnStmt *statement) override {
    struct Visitor : AstVisitor {
      explicit Visitor(SideStreamCollector &collector) : collector(collector) {}
      bool VisitDeclRefExpr(DeclRefExpr *reference) override {
        collector.keepIn(reference);
        return true;
      }
      SideStreamCollector &collector;
    } visitor(*this);
    visitor.TraverseStmt(statement->getRetValue());
    return true;
  }

  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    if (variable && current_ && own_.contains(variable))
      use(reference, variable, current_);
    return true;
  }

  bool TraverseCUDAKernelCallExpr(CUDAKernelCallExpr *call,
                                  DataRecursionQueue * = nullptr) override {
    AstVisitor::TraverseCUDAKernelCallExpr(call);
    const CallExpr *config = call->getConfig();
    if (config && config->getNumArgs() > 3)
      launched(call, config->getArg(3));
    return true;
  }
  bool TraverseCallExpr(CallExpr *call, DataRecursionQueue * = nullptr) override {
    AstVisitor::TraverseCallExpr(call);
    after(call);
    return true;
  }
  bool TraverseCXXMemberCallExpr(CXXMemberCallExpr *call, DataRecursionQueue * = nullptr) override {
    AstVisitor::TraverseCXXMemberCallExpr(call);
    after(call);
    return true;
  }
  bool TraverseCXXOperatorCallExpr(CXXOperatorCallExpr *op,
                                   DataRecursionQueue * = nullptr) override {
    AstVisitor::TraverseCXXOperatorCallExpr(op);
    if (op->isAssignmentOp() && op->getNumArgs() == 2)
      keepIn(op->getArg(1));
    return true;
  }

private:
  void use(const Expr *expr, const VarDecl *tensor, const VarDecl *stream) {
    if (llvm::none_of(uses, [&](const SideUse &other) { return other.tensor == tensor; }))
      uses.push_back({expr, tensor, stream});
  }

  // `value` itself goes somewhere that may outlive it.
  void keepIn(const Expr *value) {
    if (const auto *reference = dyn_cast<DeclRefExpr>(strip(value)))
      if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl()))
        kept_.insert(variable);
  }

  const VarDecl *sideStream(const Expr *stream) const {
    const VarDecl *variable = namedVariable(stream);
    return variable && side_.contains(variable) ? variable : nullptr;
  }

  const VarDecl *guardedStream(const VarDecl *guard) const {
    const auto *construct =
        dyn_cast_or_null<CXXConstructExpr>(guard->getInit() ? strip(guard->getInit()) : nullptr);
    return construct && construct->getNumArgs() ? sideStream(construct->getArg(0)) : nullptr;
  }

  void launched(const CallExpr *call, const Expr *stream) {
    const VarDecl *side = sideStream(stream);
    if (!side)
      return;
    struct Visitor : AstVisitor {
      Visitor(SideStreamCollector &collector, const CallExpr *call, const VarDecl *side)
          : collector(collector), call(call), side(side) {}
      bool VisitDeclRefExpr(DeclRefExpr *reference) override {
        const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
        if (!variable)
          return true;
        if (collector.own_.contains(variable))
          collector.use(call, variable, side);
        const auto pointer = variable->getType()->isPointerType()
                                 ? collector.work_.initialisers.find(variable)
                                 : collector.work_.initialisers.end();
        if (pointer != collector.work_.initialisers.end() && followed.insert(variable).second)
          TraverseStmt(const_cast<Expr *>(pointer->second));
        return true;
      }
      SideStreamCollector &collector;
      const CallExpr *call;
      const VarDecl *side;
      llvm::SmallPtrSet<const VarDecl *, 4> followed;
    } visitor(*this, call, side);
    for (const Expr *argument : call->arguments())
      visitor.TraverseStmt(const_cast<Expr *>(argument));
  }

  void after(CallExpr *call) {
    const FunctionDecl *callee = calledFunction(call);
    const llvm::StringRef name = nameOf(callee);
    if (name.empty())
      return;
    if (name == "cudaStreamCreate" || name == "cudaStreamCreateWithFlags" ||
        name == "cudaStreamCreateWithPriority") {
      if (const auto *address = dyn_cast<UnaryOperator>(strip(call->getArg(0))))
        if (const VarDecl *variable = namedVariable(address->getSubExpr()))
          side_.insert(variable);
      return;
    }
    if ((name == "record_stream" || name == "recordStream") && isTorchDecl(callee))
      return recorded(call, name == "record_stream" ? receiverOf(call) : call->getArg(0),
                      call->getArg(call->getNumArgs() - 1));
    // The host waits, or a stream does: what was used may be done by then.
    if (mayWait(call) || name == "cudaStreamWaitEvent" ||
        (name == "block" && isTorchDecl(callee))) {
      uses.clear();
      return;
    }
    const bool torchs = isTorchDecl(callee);
    if (!torchs)
      for (const Expr *argument : call->arguments())
        if (isTensor(argument->getType()))
          keepIn(argument);
    if (name == "cudaMemcpyAsync" || name == "cudaMemsetAsync" || name == "cudaLaunchKernel" ||
        !torchs)
      for (const Expr *argument : call->arguments())
        if (sideStream(argument))
          launched(call, argument);
  }

  void recorded(const CallExpr *call, const Expr *tensor, const Expr *stream) {
    const VarDecl *variable = tensor ? namedVariable(tensor) : nullptr;
    if (!variable)
      return;
    if (const VarDecl *side = sideStream(stream))
      recorded_.insert({variable, side});
    else if (callsNamed(stream, "getCurrentCUDAStream") && !current_)
      recorded_elsewhere_[variable] = call;
    else
      kept_.insert(variable); // a stream that is not followed
  }

  const CudaWork &work_;
  llvm::SmallPtrSet<const VarDecl *, 4> own_;
  llvm::SmallPtrSet<const VarDecl *, 4> side_;
  llvm::SmallPtrSet<const VarDecl *, 4> kept_;
  llvm::DenseSet<std::pair<const VarDecl *, const VarDecl *>> recorded_;
  llvm::DenseMap<const VarDecl *, const Expr *> recorded_elsewhere_;
  const VarDecl *current_ = nullptr; // the side stream whose guard is live
};

} // namespace

std::vector<SideUse> unrecordedSideUses(const CudaWork &work) {
  return std::move(SideStreamCollector(work).uses);
}

} // namespace devsan::analyzer
