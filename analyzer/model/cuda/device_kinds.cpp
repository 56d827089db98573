#include "analyzer/model/cuda/device_kinds.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/device_guards.h"
#include "analyzer/ast/torch_api.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

namespace devsan::analyzer {

using namespace clang;

bool isLegacyType(QualType type) {
  const auto *record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record && record->getDeclName().isIdentifier() &&
         record->getName() == "DeprecatedTypeProperties" && isTorchDecl(record);
}

namespace {

bool isTorchMethod(const Expr *expr, llvm::StringRef name) {
  const auto *call = dyn_cast<CXXMemberCallExpr>(expr);
  return call && call->getMethodDecl() && nameOf(call->getMethodDecl()) == name &&
         isTorchDecl(call->getMethodDecl());
}

// The tensor at the root of a chain of LibTorch's methods: `x` of `x.options().device().type()`.
const Expr *tensorBelow(const Expr *expr) {
  expr = strip(expr);
  while (!isTensor(expr->getType())) {
    const auto *call = dyn_cast<CXXMemberCallExpr>(expr);
    if (!call || !call->getMethodDecl() || !isTorchDecl(call->getMethodDecl()))
      return nullptr;
    expr = strip(call->getImplicitObjectArgument());
  }
  return expr;
}

// The factories of LibTorch, by name: a call with an argument of the old type does not resolve with
// its present headers.
bool makesTensor(llvm::StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"empty", "zeros", "ones", "full", "arange", "linspace", "eye", "tensor", "rand"},
             true)
      .Cases(
          {"randn", "randint", "randperm", "from_blob", "range", "tensorFromBlob", "empty_strided"},
          true)
      .Default(false);
}

bool namesFactory(const Expr *callee) {
  callee = callee->IgnoreParenImpCasts();
  if (const auto *overloads = dyn_cast<OverloadExpr>(callee))
    return overloads->getName().isIdentifier() &&
           makesTensor(overloads->getName().getAsIdentifierInfo()->getName()) &&
           llvm::any_of(overloads->decls(), [](const NamedDecl *decl) {
             return isTorchDecl(decl->getUnderlyingDecl());
           });
  const auto *reference = dyn_cast<DeclRefExpr>(callee);
  const auto *function = reference ? dyn_cast<FunctionDecl>(reference->getDecl()) : nullptr;
  return function && isTorchDecl(function) && makesTensor(nameOf(function));
}

class DeviceKindCollector : public AstVisitor {

public:
  std::vector<DeviceKind> found;

  explicit DeviceKindCollector(const CudaWork &work) : work_(work) {
    TraverseStmt(work.function->getBody());
  }

  // A comparison asks for the kind and keeps nothing.
  bool TraverseCXXOperatorCallExpr(CXXOperatorCallExpr *op,
                                   DataRecursionQueue * = nullptr) override {
    return op->isComparisonOp() || AstVisitor::TraverseCXXOperatorCallExpr(op);
  }

  bool VisitExpr(Expr *expr) override {
    guarded_ = work_.under_guard.contains(expr);
    return true;
  }
  bool VisitCallExpr(CallExpr *call) override {
    device_set_ |= setsDevice(call);
    if (const FunctionDecl *callee = calledFunction(call);
        callee && isTorchDecl(callee) && makesTensor(nameOf(callee)))
      for (const Expr *argument : call->arguments())
        noteLegacy(argument);
    // `options.device(x.device().type())`
    if (isTorchMethod(call, "device") && argumentsOf(call).size() == 1)
      noteKind(call->getArg(0));
    // `x.type().options()`: without an index, as nobody gave one.
    if (isTorchMethod(call, "options") && argumentsOf(call).empty())
      noteLegacy(cast<CXXMemberCallExpr>(call)->getImplicitObjectArgument());
    return true;
  }
  // A call that no overload takes, as the old type is none of their parameters any more.
  bool VisitRecoveryExpr(RecoveryExpr *recovery) override {
    const llvm::ArrayRef<Expr *> parts = recovery->subExpressions();
    if (!parts.empty() && namesFactory(parts.front()))
      for (const Expr *argument : parts.drop_front())
        noteLegacy(argument);
    return true;
  }
  bool VisitCXXConstructExpr(CXXConstructExpr *construct) override {
    // A device, an optional one, or options of nothing else.
    if (namesDevice(construct->getType()) && construct->getNumArgs() > 0 &&
        argumentsOf(construct).size() == 1)
      noteKind(construct->getArg(0));
    return true;
  }

private:
  void noteLegacy(const Expr *expr) {
    expr = resolve(expr);
    if (const auto *options = dyn_cast<CXXConstructExpr>(expr); options && options->getNumArgs())
      expr = resolve(options->getArg(0));
    // The old type converts to options, as `options()` gives them.
    if (const auto *conversion = dyn_cast<CXXMemberCallExpr>(expr);
        conversion && isa_and_nonnull<CXXConversionDecl>(conversion->getMethodDecl()))
      expr = resolve(conversion->getImplicitObjectArgument());
    const auto *call = dyn_cast<CallExpr>(expr);
    if (!call || !isLegacyType(call->getType()))
      return;
    if (isTorchMethod(call, "type"))
      add(DeviceKind::From::kLegacyType, call, tensorBelow(call));
    else if (nameOf(calledFunction(call)) == "CUDA")
      add(DeviceKind::From::kLegacyCuda, call, nullptr);
    // x.type().toScalarType(kInt)
    else if (const auto *member = dyn_cast<CXXMemberCallExpr>(call))
      noteLegacy(member->getImplicitObjectArgument());
  }

  void noteKind(const Expr *expr) {
    expr = resolve(expr);
    if (!isDeviceType(expr->getType()))
      return;
    if (const auto *choice = dyn_cast<ConditionalOperator>(expr)) {
      const Expr *condition = strip(choice->getCond());
      if (isTorchMethod(condition, "is_cuda"))
        if (const Expr *tensor = tensorBelow(condition))
          add(DeviceKind::From::kIsCuda, choice, tensor);
    } else if (isTorchMethod(expr, "type") || isTorchMethod(expr, "device_type")) {
      if (const Expr *tensor = tensorBelow(expr))
        add(DeviceKind::From::kDeviceType, expr, tensor);
    }
  }

  // Through variables that are never written again.
  const Expr *resolve(const Expr *expr) const {
    for (unsigned steps = 0; steps < 4; ++steps) {
      expr = strip(expr);
      const auto *reference = dyn_cast<DeclRefExpr>(expr);
      const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      const auto initialiser =
          variable ? work_.initialisers.find(variable) : work_.initialisers.end();
      if (initialiser == work_.initialisers.end())
        break;
      expr = initialiser->second;
    }
    return expr;
  }

  void add(DeviceKind::From from, const Expr *expr, const Expr *tensor) {
    if (llvm::none_of(found, [&](const DeviceKind &other) { return other.expr == expr; }))
      found.push_back({from, expr, tensor, guarded_, device_set_});
  }

  const CudaWork &work_;
  bool guarded_ = false;
  bool device_set_ = false;
};

// What devices a value comes from.
class DeviceSources {
public:
  bool current = false;
  bool others = false;

  explicit DeviceSources(const CudaWork &work) : work_(work) {}

  void add(const ValueDecl *variable) {
    if (!known_.insert(variable).second)
      return;
    const auto initialiser = work_.initialisers.find(dyn_cast<VarDecl>(variable));
    const bool is_whole = isTensor(variable->getType()) || namesDevice(variable->getType());
    if (!is_whole || initialiser == work_.initialisers.end())
      others = true;
    else
      add(initialiser->second);
  }

private:
  void add(const Stmt *part) {
    if (const auto *reference = dyn_cast<DeclRefExpr>(part)) {
      addNamed(reference->getDecl());
    } else if (const auto *text = dyn_cast<StringLiteral>(part)) {
      current |= text->getString() == "cuda";
      others |= text->getString() != "cuda" && text->getString().starts_with("cuda");
    } else if (const auto *member = dyn_cast<MemberExpr>(part)) {
      others |= isa<FieldDecl>(member->getMemberDecl()) && isSource(member->getType());
    } else if (const auto *call = dyn_cast<CallExpr>(part)) {
      const FunctionDecl *callee = calledFunction(call);
      others |= isSource(call->getType()) && (!callee || !isTorchDecl(callee));
      others |= nameOf(callee) == "device_index" || nameOf(callee) == "set_index";
      addWhole(call);
    } else if (isa<CXXConstructExpr>(part)) {
      addWhole(cast<Expr>(part));
    } else {
      others |= isa<LambdaExpr, RecoveryExpr>(part);
    }
    for (const Stmt *child : part->children())
      if (child && !others)
        add(child);
  }

  static bool isSource(QualType type) { return holdsTensor(type) || namesDevice(type); }

  void addNamed(const ValueDecl *decl) {
    if (isDeviceType(decl->getType()) && isTorchDecl(decl)) {
      (decl->getName() == "kCUDA" || decl->getName() == "CUDA" ? current : others) = true;
    } else if (isa<VarDecl>(decl) && isSource(decl->getType())) {
      add(decl);
    }
  }

  // A device with its index.
  void addWhole(const Expr *made) {
    const auto arguments = argumentsOf(made);
    others |= namesDevice(made->getType()) && arguments.size() > 1 &&
              isDeviceType(strip(arguments[0])->getType());
  }

  const CudaWork &work_;
  llvm::SmallPtrSet<const ValueDecl *, 8> known_;
};

} // namespace

bool isMadeOnCurrent(const ValueDecl *tensor, const CudaWork &work) {
  DeviceSources sources(work);
  sources.add(tensor);
  return sources.current && !sources.others;
}

std::vector<DeviceKind> deviceKinds(const CudaWork &work) {
  return std::move(DeviceKindCollector(work).found);
}

} // namespace devsan::analyzer
