#include "analyzer/model/cuda/static_state.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/device_guards.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/cuda/device_queries.h"
#include "analyzer/model/model.h"

#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

// What a call makes for the current device, or for the one that its arguments name.
std::optional<DeviceThing> makes(const CallExpr *call) {
  const FunctionDecl *callee = calledFunction(call);
  const llvm::StringRef name = nameOf(callee);
  if (name.empty())
    return std::nullopt;
  if (asksDevice(call))
    return DeviceThing::kProperties;
  using Maybe = std::optional<DeviceThing>;
  if (isTorchDecl(callee))
    return llvm::StringSwitch<Maybe>(name)
        .Cases({"getStreamFromPool", "getCurrentCUDAStream", "getDefaultCUDAStream"},
               DeviceThing::kStream)
        .Cases({"getCurrentCUDABlasHandle", "getCurrentCUDABlasLtHandle",
                "getCurrentCUDASparseHandle", "getCurrentCUDASolverDnHandle", "getCudnnHandle"},
               DeviceThing::kHandle)
        .Cases({"raw_alloc", "raw_alloc_with_stream"}, DeviceThing::kMemory)
        .Default(std::nullopt);
  return llvm::StringSwitch<Maybe>(name)
      .Cases({"cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority",
              "hipStreamCreate", "hipStreamCreateWithFlags", "cuStreamCreate"},
             DeviceThing::kStream)
      .Cases({"cudaEventCreate", "cudaEventCreateWithFlags", "hipEventCreate",
              "hipEventCreateWithFlags", "cuEventCreate"},
             DeviceThing::kEvent)
      .Cases({"cublasCreate", "cublasCreate_v2", "cublasLtCreate", "cusparseCreate", "cudnnCreate",
              "cusolverDnCreate", "curandCreateGenerator", "cufftPlan1d", "cufftPlan2d",
              "cufftPlanMany", "hipblasCreate", "rocblas_create_handle"},
             DeviceThing::kHandle)
      .Cases({"cudaMalloc", "cudaMallocAsync", "cudaMallocPitch", "hipMalloc"},
             DeviceThing::kMemory)
      .Default(std::nullopt);
}

const VarDecl *staticVariable(const Expr *expr) {
  const auto *reference = dyn_cast<DeclRefExpr>(strip(expr));
  const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  if (!variable || !variable->hasGlobalStorage() || variable->getTLSKind() != VarDecl::TLS_None)
    return nullptr;
  return variable->getCanonicalDecl();
}

// The variable that `target` is, or is an element of.
struct Target {
  const VarDecl *variable = nullptr;
  const Expr *index = nullptr; // of the element
};

Target targetOf(const Expr *expr) {
  expr = strip(expr);
  if (const auto *address = dyn_cast<UnaryOperator>(expr);
      address && address->getOpcode() == UO_AddrOf)
    return targetOf(address->getSubExpr());
  if (const auto *element = dyn_cast<ArraySubscriptExpr>(expr)) {
    Target target = targetOf(element->getBase());
    target.index = element->getIdx();
    return target;
  }
  if (const auto *op = dyn_cast<CXXOperatorCallExpr>(expr);
      op && op->getOperator() == OO_Subscript && op->getNumArgs() == 2) {
    Target target = targetOf(op->getArg(0));
    target.index = op->getArg(1);
    return target;
  }
  if (const auto *member = dyn_cast<CXXMemberCallExpr>(expr);
      member && member->getNumArgs() == 1 && nameOf(member->getMethodDecl()) == "at") {
    Target target = targetOf(member->getImplicitObjectArgument());
    target.index = member->getArg(0);
    return target;
  }
  return {staticVariable(expr)};
}

// An associative container, the standard library's or one after its pattern: what is put in it has
// a key.
bool isMap(QualType type) {
  const auto *record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record && record->hasDefinition() &&
         llvm::any_of(record->getDefinition()->decls(), [](const Decl *member) {
           const auto *name = dyn_cast<TypedefNameDecl>(member);
           return name && name->getDeclName().isIdentifier() && name->getName() == "mapped_type";
         });
}

// The lambda that is called where it is written.
const LambdaExpr *calledLambda(const Expr *expr) {
  const auto *call = dyn_cast_or_null<CXXOperatorCallExpr>(strip(expr));
  return call && call->getOperator() == OO_Call ? dyn_cast<LambdaExpr>(strip(call->getArg(0)))
                                                : nullptr;
}

const CallExpr *returnedBy(const LambdaExpr *lambda, DeviceThing &thing);

// The first call below `statement` that makes a thing of a device. Functions of the file that are
// called count as their bodies; a static object's constructor does not.
const CallExpr *makerIn(const Stmt *statement, DeviceThing &thing) {
  struct Visitor : AstVisitor {
    bool VisitCallExpr(CallExpr *call) override {
      if (const auto what = makes(call)) {
        found = call;
        thing = *what;
      } else if (const LambdaExpr *lambda = calledLambda(call)) {
        found = returnedBy(lambda, thing);
      }
      return !found;
    }
    // A function object makes nothing until it is called.
    bool TraverseLambdaExpr(LambdaExpr *, DataRecursionQueue * = nullptr) override { return true; }
    const CallExpr *found = nullptr;
    DeviceThing thing = DeviceThing::kStream;
  } visitor;
  visitor.TraverseStmt(const_cast<Stmt *>(statement));
  thing = visitor.thing;
  return visitor.found;
}

// The call in the lambda that makes what the lambda returns: `return make();`, or
// `Stream s; create(&s); return s;`.
const CallExpr *returnedBy(const LambdaExpr *lambda, DeviceThing &thing) {
  struct Visitor : AstVisitor {
    bool VisitReturnStmt(ReturnStmt *statement) override {
      if (statement->getRetValue())
        returned.push_back(statement->getRetValue());
      return true;
    }
    bool VisitCallExpr(CallExpr *call) override {
      calls.push_back(call);
      return true;
    }
    bool TraverseLambdaExpr(LambdaExpr *, DataRecursionQueue * = nullptr) override { return true; }
    llvm::SmallVector<const Expr *, 2> returned;
    llvm::SmallVector<const CallExpr *, 8> calls;
  } visitor;
  visitor.TraverseStmt(lambda->getBody());
  for (const Expr *value : visitor.returned) {
    if (const CallExpr *maker = makerIn(value, thing))
      return maker;
    const auto *reference = dyn_cast<DeclRefExpr>(strip(value));
    const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    if (!variable)
      continue;
    if (variable->getInit())
      if (const CallExpr *maker = makerIn(variable->getInit(), thing))
        return maker;
    for (const CallExpr *call : visitor.calls)
      if (const auto what = makes(call))
        for (const Expr *argument : call->arguments())
          if (const auto *address = dyn_cast<UnaryOperator>(strip(argument));
              address && address->getOpcode() == UO_AddrOf)
            if (const auto *filled = dyn_cast<DeclRefExpr>(strip(address->getSubExpr()));
                filled && filled->getDecl() == variable) {
              thing = *what;
              return call;
            }
  }
  return nullptr;
}

// What is made is what is kept, and not an argument of something else: `static bool ready =
// query(getCurrentCUDAStream())` keeps no stream. Anything may be computed from properties.
bool keeps(QualType type, const Expr *value, const CallExpr *maker, DeviceThing thing) {
  if (thing == DeviceThing::kProperties)
    return true;
  if (!type->isScalarType())
    return !type->isReferenceType();
  value = strip(value)->IgnoreParenCasts();
  while (const auto *member = dyn_cast<CXXMemberCallExpr>(value))
    value = strip(member->getImplicitObjectArgument())->IgnoreParenCasts();
  if (const LambdaExpr *lambda = calledLambda(value)) {
    DeviceThing returned;
    return returnedBy(lambda, returned) == maker;
  }
  return value == maker;
}

bool countsDevices(const Stmt *statement) {
  struct Visitor : AstVisitor {
    bool VisitCallExpr(CallExpr *call) override {
      const llvm::StringRef name = nameOf(calledFunction(call));
      found |= name == "cudaGetDeviceCount" || name == "device_count" ||
               name == "hipGetDeviceCount" || name == "getNumGPUs";
      return !found;
    }
    bool found = false;
  } visitor;
  visitor.TraverseStmt(const_cast<Stmt *>(statement));
  return visitor.found;
}

bool setsDeviceIn(const Stmt *statement) {
  struct Visitor : AstVisitor {
    bool VisitCallExpr(CallExpr *call) override {
      found |= setsDevice(call);
      return !found;
    }
    bool VisitVarDecl(VarDecl *variable) override {
      found |= isDeviceGuard(variable->getType());
      return !found;
    }
    bool found = false;
  } visitor;
  visitor.TraverseStmt(const_cast<Stmt *>(statement));
  return visitor.found;
}

// Walks one function and notes what it does to static variables.
class StaticStateCollector : public AstVisitor {

public:
  using States = llvm::MapVector<const VarDecl *, StaticState>;

  StaticStateCollector(const CudaWork &work, DeviceModel &model, States &states,
                       llvm::SmallPtrSetImpl<const VarDecl *> &told_apart)
      : work_(work), devices_(work), model_(model), states_(states), told_apart_(told_apart) {
    TraverseStmt(work.function->getBody());
  }

  bool TraverseForStmt(ForStmt *loop, DataRecursionQueue * = nullptr) override {
    loops_.push_back(loop);
    AstVisitor::TraverseForStmt(loop);
    loops_.pop_back();
    return true;
  }
  bool TraverseCXXForRangeStmt(CXXForRangeStmt *loop, DataRecursionQueue * = nullptr) override {
    loops_.push_back(loop);
    AstVisitor::TraverseCXXForRangeStmt(loop);
    loops_.pop_back();
    return true;
  }
  bool TraverseIfStmt(IfStmt *branch, DataRecursionQueue * = nullptr) override {
    const bool told = branch->getCond() && devices_.mentionedIn(branch->getCond());
    const bool outer = by_device_;
    by_device_ |= told;
    AstVisitor::TraverseIfStmt(branch);
    by_device_ = outer;
    return true;
  }

  bool VisitVarDecl(VarDecl *variable) override {
    if (!variable->isStaticLocal() || variable->getTLSKind() != VarDecl::TLS_None ||
        !variable->getInit())
      return true;
    made({variable->getCanonicalDecl()}, variable->getInit());
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator *op) override {
    if (op->isAssignmentOp())
      made(targetOf(op->getLHS()), op->getRHS());
    else if (op->isComparisonOp())
      compared(op->getLHS(), op->getRHS());
    return true;
  }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *op) override {
    if (op->isAssignmentOp() && op->getNumArgs() == 2)
      made(targetOf(op->getArg(0)), op->getArg(1));
    else if (op->isComparisonOp() && op->getNumArgs() == 2)
      compared(op->getArg(0), op->getArg(1));
    else if (op->getOperator() == OO_Subscript && op->getNumArgs() == 2)
      indexed(targetOf(op));
    return true;
  }
  bool VisitArraySubscriptExpr(ArraySubscriptExpr *element) override {
    indexed(targetOf(element));
    return true;
  }
  bool VisitCallExpr(CallExpr *call) override {
    if (const auto *member = dyn_cast<CXXMemberCallExpr>(call)) {
      const llvm::StringRef name = nameOf(member->getMethodDecl());
      if (name == "push_back" || name == "emplace_back" || name == "emplace")
        for (const Expr *argument : call->arguments())
          made(targetOf(member->getImplicitObjectArgument()), argument);
    }
    if (const auto thing = makes(call))
      for (const Expr *argument : call->arguments())
        if (argument->getType()->isPointerType())
          if (const Target target = targetOf(argument); target.variable)
            note(target, call, *thing);
    return true;
  }

private:
  void made(Target target, const Expr *value) {
    if (!target.variable)
      return;
    if (holdsTensor(target.variable->getType())) {
      const FunctionFacts *facts = model_.facts(work_.function);
      if (facts && facts->value(value).place.maybeOffHost())
        note(target, value, DeviceThing::kTensor);
      return;
    }
    DeviceThing thing;
    if (const CallExpr *maker = makerIn(value, thing);
        maker && keeps(target.variable->getType(), value, maker, thing)) {
      if (countsDevices(value))
        told_apart_.insert(target.variable);
      note(target, maker, thing);
    }
  }

  void note(const Target &target, const Expr *made, DeviceThing thing) {
    states_.insert({target.variable, {target.variable, thing, made}});
    if (by_device_ || asksEach(made) || (target.index && !sharedElements(target.index)) ||
        isMap(target.variable->getType()) || countsDevices(made) ||
        llvm::any_of(loops_,
                     [](const Stmt *loop) { return countsDevices(loop) || setsDeviceIn(loop); }))
      told_apart_.insert(target.variable);
  }

  // `for (i …) create(&streams[i])` makes all of them on one device, whatever the index means.
  bool sharedElements(const Expr *index) const {
    const auto *reference = dyn_cast<DeclRefExpr>(strip(index));
    const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    if (isa<IntegerLiteral>(strip(index)))
      return true;
    return variable && llvm::any_of(loops_, [&](const Stmt *loop) {
             const auto *counted = dyn_cast<ForStmt>(loop);
             const auto *init =
                 counted && counted->getInit() ? dyn_cast<DeclStmt>(counted->getInit()) : nullptr;
             return init && init->isSingleDecl() && init->getSingleDecl() == variable;
           });
  }

  // `for (i …) cudaGetDeviceProperties(&all[i], i)` asks one device after the other.
  bool asksEach(const Expr *made) const {
    const auto *call = dyn_cast<CallExpr>(made);
    const Expr *device = call ? askedDevice(call) : nullptr;
    return device && !isa<IntegerLiteral>(strip(device)) && sharedElements(device);
  }

  void indexed(const Target &target) {
    if (target.variable && target.index && devices_.mentionedIn(target.index))
      told_apart_.insert(target.variable);
  }

  // `cache.device() != x.device()`.
  void compared(const Expr *left, const Expr *right) {
    for (const Expr *side : {left, right}) {
      const auto *call = dyn_cast<CXXMemberCallExpr>(strip(side));
      if (!call || !devices_.mentionedIn(call))
        continue;
      const Expr *object = call->getImplicitObjectArgument();
      while (const auto *inner = dyn_cast<CXXMemberCallExpr>(strip(object)))
        object = inner->getImplicitObjectArgument();
      if (const Target target = targetOf(object); target.variable)
        told_apart_.insert(target.variable);
    }
  }

  const CudaWork &work_;
  const RunTimeDevices devices_;
  DeviceModel &model_;
  States &states_;
  llvm::SmallPtrSetImpl<const VarDecl *> &told_apart_;
  llvm::SmallVector<const Stmt *, 4> loops_;
  bool by_device_ = false;
};

// Variables outside of functions that are made while the program is loaded.
class Globals : public AstVisitor {
public:
  explicit Globals(StaticStateCollector::States &states) : states_(states) {}

  bool VisitVarDecl(VarDecl *variable) override {
    DeviceThing thing;
    if (!variable->isFileVarDecl() || !variable->hasInit() ||
        variable->getTLSKind() != VarDecl::TLS_None || variable->getType()->isReferenceType())
      return true;
    if (const CallExpr *maker = makerIn(variable->getInit(), thing);
        maker && !countsDevices(variable->getInit()) &&
        keeps(variable->getType(), variable->getInit(), maker, thing))
      states_.insert({variable->getCanonicalDecl(), {variable->getCanonicalDecl(), thing, maker}});
    return true;
  }
  bool TraverseFunctionDecl(FunctionDecl *) override { return true; }
  bool TraverseCXXMethodDecl(CXXMethodDecl *) override { return true; }
  bool TraverseCXXConstructorDecl(CXXConstructorDecl *) override { return true; }
  bool TraverseCXXDestructorDecl(CXXDestructorDecl *) override { return true; }
  bool TraverseLambdaExpr(LambdaExpr *, DataRecursionQueue * = nullptr) override { return true; }

private:
  StaticStateCollector::States &states_;
};

} // namespace

static bool isIn(const Expr *made, const Expr *initialiser) {
  return initialiser && !(made->getBeginLoc() < initialiser->getBeginLoc()) &&
         !(initialiser->getEndLoc() < made->getBeginLoc());
}

std::vector<StaticState> staticDeviceState(const CudaProgram &program, ASTContext &context) {
  const std::shared_ptr<DeviceModel> model = DeviceModel::of(context);
  StaticStateCollector::States states;
  llvm::SmallPtrSet<const VarDecl *, 8> told_apart;
  const SourceManager &sources = context.getSourceManager();
  const auto visit = [&](Decl *decl) {
    if (!sources.isInSystemHeader(sources.getExpansionLoc(decl->getLocation())))
      Globals(states).TraverseDecl(decl);
  };
  for (Decl *decl : context.getTraversalScope())
    if (auto *unit = dyn_cast<TranslationUnitDecl>(decl))
      llvm::for_each(unit->decls(), visit);
    else
      visit(decl);
  for (const CudaWork &work : program.functions())
    StaticStateCollector(work, *model, states, told_apart);
  std::vector<StaticState> found;
  for (auto &[variable, state] : states) {
    state.one_per_device = told_apart.contains(variable);
    state.at_load =
        !variable->isStaticLocal() && isIn(exprOf(state.made), variable->getAnyInitializer());
    found.push_back(state);
  }
  return found;
}

} // namespace devsan::analyzer
