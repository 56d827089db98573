#include "analyzer/model/host_copies.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/torch_api.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr unsigned kMaxWaitDepth = 3;

bool isStreamOrEvent(QualType type) {
  type = type.getNonReferenceType();
  const auto *record =
      type->isPointerType() ? type->getPointeeType()->getAsRecordDecl() : type->getAsRecordDecl();
  return record && record->getDeclName().isIdentifier() &&
         llvm::StringSwitch<bool>(record->getName())
             .Cases({"CUstream_st", "CUevent_st", "ihipStream_t", "ihipEvent_t"}, true)
             .Cases({"CUDAStream", "CUDAEvent", "Stream", "Event"}, isTorchDecl(record))
             .Default(false);
}

bool waits(const FunctionDecl *callee) {
  const llvm::StringRef name = nameOf(callee);
  if (isLibraryDecl(callee))
    return llvm::StringSwitch<bool>(name)
        .Cases({"synchronize", "device_synchronize", "stream_synchronize", "item", "cpu",
                "memcpy_and_sync", "synchronizeDevice", "wait"},
               true)
        .Default(false);
  return isWaitingCopy(callee) ||
         llvm::StringSwitch<bool>(name)
             .Cases({"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize",
                     "cudaStreamQuery", "cudaEventQuery", "cudaThreadSynchronize"},
                    true)
             .Cases({"cudaFree", "cudaFreeHost", "cudaFreeArray", "cudaStreamDestroy",
                     "cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"},
                    true)
             .Cases(
                 {"hipStreamSynchronize", "hipDeviceSynchronize", "hipEventSynchronize", "hipFree"},
                 true)
             .Default(false);
}

bool mayWaitWithin(const CallExpr *call, unsigned depth);

bool bodyMayWait(const Stmt *body, unsigned depth) {
  struct Visitor : AstVisitor {
    explicit Visitor(unsigned depth) : depth(depth) {}
    bool VisitCallExpr(CallExpr *call) override {
      found |= mayWaitWithin(call, depth);
      return !found;
    }
    unsigned depth;
    bool found = false;
  } visitor(depth);
  visitor.TraverseStmt(const_cast<Stmt *>(body));
  return visitor.found;
}

bool mayWaitWithin(const CallExpr *call, unsigned depth) {
  if (isa<CUDAKernelCallExpr>(call))
    return false;
  const FunctionDecl *callee = calledFunction(call);
  if (!callee)
    return false;
  if (waits(callee))
    return true;
  if (isLibraryDecl(callee) || callee->isExternC() || callee->getBuiltinID())
    return false;
  const FunctionDecl *definition = nullptr;
  if (callee->hasBody(definition))
    return depth < kMaxWaitDepth && bodyMayWait(definition->getBody(), depth + 1);
  if (nameOf(callee).starts_with("cuda") || nameOf(callee).starts_with("hip"))
    return false; // the stubs' templates of CUDA's functions
  // Not seen: what it is given says whether it could.
  return isa<CXXMethodDecl>(callee) || call->getNumArgs() == 0 ||
         llvm::any_of(call->arguments(),
                      [](const Expr *argument) { return isStreamOrEvent(argument->getType()); });
}

enum class Direction { kUnknown, kToHost, kToDevice };

Direction directionOf(const Expr *kind) {
  const auto *reference = dyn_cast<DeclRefExpr>(strip(kind));
  const auto *constant = reference ? dyn_cast<EnumConstantDecl>(reference->getDecl()) : nullptr;
  return llvm::StringSwitch<Direction>(constant ? constant->getName() : llvm::StringRef())
      .Cases({"cudaMemcpyDeviceToHost", "hipMemcpyDeviceToHost"}, Direction::kToHost)
      .Cases({"cudaMemcpyHostToDevice", "hipMemcpyHostToDevice"}, Direction::kToDevice)
      .Default(Direction::kUnknown);
}

// Of a copy to the device: its last pointer to what is only read. A symbol comes before it.
const Expr *sourceOf(const CallExpr *call, const FunctionDecl *callee) {
  const Expr *source = nullptr;
  for (unsigned i = 0; i < callee->getNumParams() && i < call->getNumArgs(); ++i)
    if (const QualType type = callee->getParamDecl(i)->getType();
        type->isPointerType() && type->getPointeeType().isConstQualified())
      source = call->getArg(i);
  return source;
}

// A method of a tensor, or of one kept in a variable, that hands out its memory.
const CXXMemberCallExpr *memoryOf(const Expr *expr) {
  const auto *call = dyn_cast<CXXMemberCallExpr>(expr);
  if (!call || !call->getMethodDecl() || !isTensor(call->getObjectType()))
    return nullptr;
  const llvm::StringRef name = nameOf(call->getMethodDecl());
  return name.ends_with("data_ptr") || name.contains("accessor") ? call : nullptr;
}

class HostCopyCollector : public AstVisitor {

public:
  std::vector<CopyStep> steps;

  HostCopyCollector(const CudaWork &work, const FunctionFacts *facts) : work_(work), facts_(facts) {
    TraverseStmt(work.function->getBody());
  }

  bool TraverseIfStmt(IfStmt *branch, DataRecursionQueue * = nullptr) override {
    TraverseStmt(branch->getInit());
    TraverseStmt(branch->getCond());
    for (Stmt *way : {branch->getThen(), branch->getElse()}) {
      branches_.push_back({branch, way});
      TraverseStmt(way);
      branches_.pop_back();
    }
    return true;
  }
  bool TraverseSwitchStmt(SwitchStmt *choice, DataRecursionQueue * = nullptr) override {
    TraverseStmt(choice->getCond());
    const auto *body = dyn_cast_or_null<CompoundStmt>(choice->getBody());
    if (!body)
      return TraverseStmt(choice->getBody());
    const Stmt *way = nullptr;
    for (Stmt *statement : body->body()) {
      if (isa<SwitchCase>(statement))
        way = statement;
      branches_.push_back({choice, way});
      TraverseStmt(statement);
      branches_.pop_back();
    }
    return true;
  }

  bool TraverseCXXMemberCallExpr(CXXMemberCallExpr *call, DataRecursionQueue * = nullptr) override {
    AstVisitor::TraverseCXXMemberCallExpr(call);
    after(call);
    return true;
  }
  bool TraverseCallExpr(CallExpr *call, DataRecursionQueue * = nullptr) override {
    AstVisitor::TraverseCallExpr(call);
    after(call);
    return true;
  }

  bool VisitVarDecl(VarDecl *variable) override {
    if (!variable->getInit())
      return true;
    const Expr *init = strip(variable->getInit());
    if (const CXXMemberCallExpr *memory = memoryOf(init))
      if (const ValueDecl *tensor = named(memory->getImplicitObjectArgument()))
        alias_[variable] = tensor;
    return true;
  }
  bool VisitImplicitCastExpr(ImplicitCastExpr *cast) override {
    if (cast->getCastKind() == CK_LValueToRValue)
      touch(cast->getSubExpr(), cast->getSubExpr());
    return true;
  }
  bool VisitReturnStmt(ReturnStmt *statement) override {
    if (const Expr *value = statement->getRetValue())
      if (const auto *reference = dyn_cast<DeclRefExpr>(strip(value));
          reference && !holdsTensor(reference->getType()))
        touch(reference, reference);
    return true;
  }

private:
  void add(CopyStep::Kind kind, const Expr *expr, const ValueDecl *memory = nullptr,
           const Expr *pointer = nullptr, const Expr *stream = nullptr) {
    steps.push_back({kind, expr, memory, pointer, stream, branches_});
  }

  void after(CallExpr *call) {
    const FunctionDecl *callee = calledFunction(call);
    if (!callee || isa<CUDAKernelCallExpr>(call))
      return;
    const llvm::StringRef name = nameOf(callee);
    const std::optional<unsigned> kind = directionParameter(callee),
                                  stream = streamParameter(callee);
    if (kind && stream && *stream < call->getNumArgs()) {
      const Direction direction = directionOf(call->getArg(*kind));
      const Expr *memory = direction == Direction::kToHost     ? call->getArg(0)
                           : direction == Direction::kToDevice ? sourceOf(call, callee)
                                                               : nullptr;
      if (memory)
        add(direction == Direction::kToHost ? CopyStep::Kind::kToHost : CopyStep::Kind::kToDevice,
            call, memoryNamed(memory), memory, call->getArg(*stream));
    } else if (name == "cudaStreamWaitEvent" || name == "hipStreamWaitEvent" ||
               (name == "block" && isTorchDecl(callee))) {
      add(CopyStep::Kind::kOrder, call);
    } else if (isTorchDecl(callee) && isNonBlocking(call)) {
      tensorCopy(call, name);
    } else {
      // A read before a wait in the same call is before it: item() of the copy itself.
      if (isTorchDecl(callee))
        tensorRead(call, name);
      else if (name == "memcpy")
        for (const Expr *argument : call->arguments())
          if (const ValueDecl *memory = memoryNamed(argument))
            add(CopyStep::Kind::kTouch, call, memory);
      if (mayWait(call))
        add(CopyStep::Kind::kWait, call);
    }
  }

  void tensorCopy(const CallExpr *call, llvm::StringRef name) {
    const Expr *receiver = receiverOf(call);
    if (!facts_ || !receiver || !isTensor(receiver->getType()))
      return;
    if (name == "copy_") {
      if (const ValueDecl *tensor = named(receiver); tensor && pinned(tensor))
        add(CopyStep::Kind::kToHost, call, tensor);
    } else if (name == "to" && facts_->value(call).place.is(Place::Kind::kHost) &&
               !facts_->value(receiver).place.onHost()) {
      add(CopyStep::Kind::kToHost, call, keptIn(call));
    }
  }

  // Reads of a tensor's values on the host, other than through its memory.
  void tensorRead(const CallExpr *call, llvm::StringRef name) {
    const bool reads = llvm::StringSwitch<bool>(name)
                           .Cases({"item", "equal", "allclose", "is_nonzero", "tolist"}, true)
                           .Default(false);
    if (!reads)
      return;
    if (const Expr *receiver = receiverOf(call))
      if (const ValueDecl *tensor = named(receiver))
        add(CopyStep::Kind::kTouch, call, tensor);
  }

  // The variable that a call initialises.
  const ValueDecl *keptIn(const CallExpr *call) const {
    for (const auto &[variable, initialiser] : work_.initialisers)
      if (strip(initialiser) == call)
        return variable;
    return nullptr;
  }

  bool pinned(const ValueDecl *tensor) const {
    const auto *variable = dyn_cast<VarDecl>(tensor);
    const auto initialiser =
        variable ? work_.initialisers.find(variable) : work_.initialisers.end();
    if (initialiser == work_.initialisers.end())
      return false;
    struct Visitor : AstVisitor {
      bool VisitCallExpr(CallExpr *call) override {
        const llvm::StringRef name = nameOf(calledFunction(call));
        found |= name == "pin_memory" || name == "pinned_memory";
        return !found;
      }
      bool found = false;
    } visitor;
    visitor.TraverseStmt(const_cast<Expr *>(initialiser->second));
    return visitor.found;
  }

  static const ValueDecl *named(const Expr *expr) {
    expr = strip(expr);
    if (const auto *reference = dyn_cast<DeclRefExpr>(expr))
      return reference->getDecl();
    if (const auto *member = dyn_cast<MemberExpr>(expr))
      return member->getMemberDecl();
    return nullptr;
  }

  // Whose memory a pointer points to: `&x`, an array, `v.data()`, `t.data_ptr()`, `p`, `p + n`.
  const ValueDecl *memoryNamed(const Expr *pointer) const {
    pointer = strip(pointer);
    if (const auto *address = dyn_cast<UnaryOperator>(pointer))
      return address->getOpcode() == UO_AddrOf ? base(address->getSubExpr()) : nullptr;
    if (const auto *sum = dyn_cast<BinaryOperator>(pointer))
      return sum->isAdditiveOp() ? memoryNamed(sum->getLHS()) : nullptr;
    if (const auto *element = dyn_cast<ArraySubscriptExpr>(pointer))
      return memoryNamed(element->getBase());
    if (const auto *op = dyn_cast<CXXOperatorCallExpr>(pointer))
      return op->getOperator() == OO_Subscript ? memoryNamed(op->getArg(0)) : nullptr;
    if (const auto *call = dyn_cast<CXXMemberCallExpr>(pointer)) {
      const llvm::StringRef name = nameOf(call->getMethodDecl());
      return memoryOf(call) || name == "data" || name == "get"
                 ? resolved(named(call->getImplicitObjectArgument()))
                 : nullptr;
    }
    return resolved(named(pointer));
  }

  const ValueDecl *resolved(const ValueDecl *decl) const {
    const auto *variable = dyn_cast_or_null<VarDecl>(decl);
    const auto alias = variable ? alias_.find(variable) : alias_.end();
    return alias == alias_.end() ? decl : alias->second;
  }

  // The variable that an lvalue lies in, or whose pointer it is reached by.
  const ValueDecl *base(const Expr *lvalue) const {
    const Expr *expr = lvalue->IgnoreParens();
    if (const auto *member = dyn_cast<MemberExpr>(expr))
      return member->isArrow() ? member->getMemberDecl() : base(member->getBase());
    if (const auto *element = dyn_cast<ArraySubscriptExpr>(expr))
      return memoryNamed(element->getBase());
    if (const auto *deref = dyn_cast<UnaryOperator>(expr))
      return deref->getOpcode() == UO_Deref ? memoryNamed(deref->getSubExpr()) : nullptr;
    if (const auto *op = dyn_cast<CXXOperatorCallExpr>(expr))
      return op->getOperator() == OO_Subscript || op->getOperator() == OO_Star
                 ? base(strip(op->getArg(0)))
                 : nullptr;
    if (const auto *call = dyn_cast<CXXMemberCallExpr>(expr)) {
      const llvm::StringRef name = nameOf(call->getMethodDecl());
      return name == "at" || name == "front" || name == "back"
                 ? base(strip(call->getImplicitObjectArgument()))
                 : nullptr;
    }
    return resolved(named(expr));
  }

  // A pointer that is only read itself does not touch what it points to.
  void touch(const Expr *lvalue, const Expr *at) {
    if (lvalue->getType()->isPointerType() || lvalue->getType()->isUndeducedType())
      return;
    if (const ValueDecl *memory = base(lvalue))
      add(CopyStep::Kind::kTouch, at, memory);
  }

  const CudaWork &work_;
  const FunctionFacts *facts_;
  llvm::DenseMap<const VarDecl *, const ValueDecl *> alias_;
  std::vector<std::pair<CopyStep::Branch, CopyStep::Branch>> branches_;
};

} // namespace

std::vector<CopyStep> copySteps(const CudaWork &work, const FunctionFacts *facts) {
  return std::move(HostCopyCollector(work, facts).steps);
}

bool sameStream(const Expr *a, const Expr *b, const CudaWork &work, const ASTContext &context) {
  const auto source = [&](const Expr *stream) {
    for (unsigned steps = 0; steps < 4; ++steps) {
      stream = strip(stream)->IgnoreParenCasts();
      while (const auto *member = dyn_cast<CXXMemberCallExpr>(stream))
        stream = strip(member->getImplicitObjectArgument())->IgnoreParenCasts();
      const auto *reference = dyn_cast<DeclRefExpr>(stream);
      const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      const auto initialiser =
          variable ? work.initialisers.find(variable) : work.initialisers.end();
      if (initialiser == work.initialisers.end())
        break;
      stream = initialiser->second;
    }
    return stream;
  };
  return sameText(source(a), source(b), context);
}

bool sameText(const Expr *a, const Expr *b, const ASTContext &context) {
  llvm::FoldingSetNodeID first, second;
  strip(a)->Profile(first, context, true);
  strip(b)->Profile(second, context, true);
  return first == second;
}

bool isNonBlocking(const CallExpr *call) {
  const FunctionDecl *callee = calledFunction(call);
  if (!callee)
    return false;
  const unsigned offset = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
  for (unsigned i = 0; i < callee->getNumParams() && i + offset < call->getNumArgs(); ++i)
    if (const ParmVarDecl *parameter = callee->getParamDecl(i);
        parameter->getDeclName().isIdentifier() && parameter->getName() == "non_blocking") {
      const auto *literal = dyn_cast<CXXBoolLiteralExpr>(strip(call->getArg(i + offset)));
      return literal && literal->getValue();
    }
  return false;
}

bool mayWait(const CallExpr *call) {
  return mayWaitWithin(call, 0);
}

} // namespace devsan::analyzer
