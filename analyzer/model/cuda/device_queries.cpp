#include "analyzer/model/cuda/device_queries.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/device_guards.h"
#include "analyzer/ast/torch_api.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr int kCurrent = -1; // asks the current device
constexpr int kNone = -2;    // asks no device

// Which argument of a call names the device that is asked.
int deviceArgument(const FunctionDecl *callee) {
  const llvm::StringRef name = nameOf(callee);
  if (name.empty())
    return kNone;
  if (const CXXRecordDecl *owner = ownerOf(callee))
    return owner->getName() == "KernelHardwareInfo" && name.starts_with("query_device_") ? 0
                                                                                         : kNone;
  if (isTorchDecl(callee))
    return llvm::StringSwitch<int>(name)
        .Case("getDeviceProperties", 0)
        .Case("getCurrentDeviceProperties", kCurrent)
        .Default(kNone);
  return llvm::StringSwitch<int>(name)
      .Cases({"cudaGetDeviceProperties", "cudaGetDeviceProperties_v2", "hipGetDeviceProperties",
              "hipGetDevicePropertiesR0600", "cuDeviceGet"},
             1)
      .Cases({"cudaDeviceGetAttribute", "hipDeviceGetAttribute", "cuDeviceGetAttribute"}, 2)
      .Default(kNone);
}

bool isHardwareInfo(QualType type) {
  const auto *record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record && record->getDeclName().isIdentifier() &&
         record->getName() == "KernelHardwareInfo";
}

const MemberExpr *hardwareDevice(const Expr *expr) {
  const auto *member = dyn_cast<MemberExpr>(expr->IgnoreParenImpCasts());
  return member && member->getMemberDecl()->getDeclName().isIdentifier() &&
                 member->getMemberDecl()->getName() == "device_id" &&
                 isHardwareInfo(member->getBase()->getType())
             ? member
             : nullptr;
}

class DeviceQueryCollector : public AstVisitor {
public:
  std::vector<PropertyQuery> found;
  std::vector<const MemberExpr *> set_fields;

  template <typename Wrappers>
  DeviceQueryCollector(const CudaWork &work, const Wrappers &wrappers) {
    asWrapper = [&wrappers](const FunctionDecl *callee) { return wrappers(callee); };
    TraverseStmt(work.function->getBody());
    // A guard only tells of queries before it.
    for (PropertyQuery &query : found)
      query.guard_follows = !query.device && last_guard_.isValid() && !guardedAt(query) &&
                            exprOf(query.expr)->getBeginLoc() < last_guard_;
  }

  bool VisitVarDecl(VarDecl *variable) override {
    if (isDeviceGuard(variable->getType())) {
      if (!first_guard_.isValid())
        first_guard_ = variable->getLocation();
      last_guard_ = variable->getLocation();
    }
    return true;
  }

  bool VisitBinaryOperator(BinaryOperator *op) override {
    if (!op->isAssignmentOp())
      return true;
    if (const MemberExpr *field = hardwareDevice(op->getLHS())) {
      set_fields.push_back(field);
      found.push_back({op, op->getRHS()});
    }
    return true;
  }

  bool VisitCallExpr(CallExpr *call) override {
    if (setsDevice(call) && !first_guard_.isValid())
      first_guard_ = call->getBeginLoc();
    const FunctionDecl *callee = calledFunction(call);
    if (!callee)
      return true;
    int argument = deviceArgument(callee);
    const Expr *wrapped = nullptr;
    if (argument == kNone)
      if (const auto [parameter, query] = asWrapper(callee); query) {
        argument = static_cast<int>(parameter);
        wrapped = query;
      }
    if (argument == kCurrent)
      found.push_back({call});
    else if (argument >= 0 && argument < static_cast<int>(call->getNumArgs()))
      found.push_back({call, call->getArg(argument), wrapped});
    return true;
  }

private:
  bool guardedAt(const PropertyQuery &query) const {
    return first_guard_.isValid() && first_guard_ < exprOf(query.expr)->getBeginLoc();
  }

  std::function<std::pair<unsigned, const Expr *>(const FunctionDecl *)> asWrapper;
  SourceLocation first_guard_;
  SourceLocation last_guard_;
};

const ParmVarDecl *namedParameter(const Expr *expr) {
  const auto *reference = dyn_cast<DeclRefExpr>(strip(expr));
  return reference ? dyn_cast<ParmVarDecl>(reference->getDecl()) : nullptr;
}

} // namespace

DeviceQueries::DeviceQueries(const CudaProgram &program) {
  const auto none = [](const FunctionDecl *) { return std::pair<unsigned, const Expr *>(); };
  for (const CudaWork &work : program.functions())
    for (const PropertyQuery &query : DeviceQueryCollector(work, none).found)
      if (const ParmVarDecl *parameter =
              query.device ? namedParameter(exprOf(query.device)) : nullptr;
          parameter && llvm::is_contained(work.function->parameters(), parameter))
        wrappers_[work.function->getCanonicalDecl()] = {parameter->getFunctionScopeIndex(),
                                                        exprOf(query.expr)};
}

std::vector<PropertyQuery> DeviceQueries::of(const CudaWork &work) const {
  const auto as_wrapper = [&](const FunctionDecl *callee) {
    if (const FunctionDecl *written = callee->getTemplateInstantiationPattern())
      callee = written;
    const auto wrapper = wrappers_.find(callee->getCanonicalDecl());
    return wrapper == wrappers_.end() ? std::pair<unsigned, const Expr *>()
                                      : std::pair<unsigned, const Expr *>(wrapper->second.parameter,
                                                                          wrapper->second.query);
  };
  DeviceQueryCollector collector(work, as_wrapper);
  // A query that reads the field of a KernelHardwareInfo says nothing that its assignment did not.
  llvm::erase_if(collector.found, [&](const PropertyQuery &query) {
    const MemberExpr *field = query.device ? hardwareDevice(strip(exprOf(query.device))) : nullptr;
    return field && !collector.set_fields.empty();
  });
  for (PropertyQuery &query : collector.found)
    query.of_zero = query.device && isZeroDevice(exprOf(query.device), work);
  return std::move(collector.found);
}

bool asksDevice(const CallExpr *call) {
  const FunctionDecl *callee = calledFunction(call);
  return callee && deviceArgument(callee) != kNone && nameOf(callee) != "cuDeviceGet";
}

const Expr *askedDevice(const CallExpr *call) {
  const FunctionDecl *callee = calledFunction(call);
  const int argument = callee ? deviceArgument(callee) : kNone;
  return argument >= 0 && argument < static_cast<int>(call->getNumArgs()) ? call->getArg(argument)
                                                                          : nullptr;
}

bool isZeroDevice(const Expr *device, const CudaWork &work) {
  device = strip(device);
  if (const auto *absent = dyn_cast<CXXDefaultArgExpr>(device))
    return isZeroDevice(absent->getExpr(), work);
  if (const auto *number = dyn_cast<IntegerLiteral>(device))
    return number->getValue() == 0;
  if (const auto *list = dyn_cast<InitListExpr>(device))
    return list->getNumInits() == 1 && isZeroDevice(list->getInit(0), work);
  // As made: device 0.
  if (hardwareDevice(device))
    return true;
  const auto *reference = dyn_cast<DeclRefExpr>(device);
  const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  if (!variable || isa<ParmVarDecl>(variable))
    return false;
  if (variable->hasGlobalStorage())
    return variable->getType().isConstQualified() && variable->getInit() &&
           isZeroDevice(variable->getInit(), work);
  const auto initialiser = work.initialisers.find(variable);
  return initialiser != work.initialisers.end() &&
         initialiser->second->getBeginLoc() < reference->getBeginLoc() &&
         isZeroDevice(initialiser->second, work);
}

namespace {

bool namesRunTimeDevice(const FunctionDecl *callee) {
  return llvm::StringSwitch<bool>(nameOf(callee))
      .Cases({"get_device", "device", "device_index", "index", "current_device", "getDevice",
              "cudaGetDevice", "hipGetDevice", "GetDevice", "device_of", "get_device_index"},
             true)
      .Default(false);
}

} // namespace

RunTimeDevices::RunTimeDevices(const CudaWork &work) {
  struct Visitor : AstVisitor {
    bool VisitCallExpr(CallExpr *call) override {
      if (!namesRunTimeDevice(calledFunction(call)))
        return true;
      for (const Expr *argument : call->arguments())
        if (const auto *address = dyn_cast<UnaryOperator>(argument->IgnoreParenCasts()))
          if (const auto *named =
                  dyn_cast<DeclRefExpr>(address->getSubExpr()->IgnoreParenImpCasts()))
            filled.insert(named->getDecl());
      return true;
    }
    llvm::SmallPtrSet<const ValueDecl *, 4> filled;
  } visitor;
  visitor.TraverseStmt(work.function->getBody());
  filled_ = std::move(visitor.filled);
}

bool RunTimeDevices::mentionedIn(const Stmt *statement) const {
  struct Visitor : AstVisitor {
    explicit Visitor(const llvm::SmallPtrSetImpl<const ValueDecl *> &filled) : filled(filled) {}
    bool VisitCallExpr(CallExpr *call) override {
      found |= namesRunTimeDevice(calledFunction(call));
      return !found;
    }
    bool VisitDeclRefExpr(DeclRefExpr *reference) override {
      const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
      if (!variable || !followed.insert(variable).second)
        return true;
      found |= isDevice(variable->getType()) || filled.contains(variable);
      if (!found && variable->isLocalVarDecl() && variable->getInit())
        TraverseStmt(const_cast<Expr *>(variable->getInit()));
      return !found;
    }
    const llvm::SmallPtrSetImpl<const ValueDecl *> &filled;
    llvm::SmallPtrSet<const VarDecl *, 4> followed;
    bool found = false;
  } visitor(filled_);
  visitor.TraverseStmt(const_cast<Stmt *>(statement));
  return visitor.found;
}

} // namespace devsan::analyzer
