#include "analyzer/ast/told_device.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/clang_compat.h"
#include "analyzer/ast/cuda_api.h"
#include "analyzer/ast/torch_api.h"

#include <clang/AST/DeclTemplate.h>
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

// Declared by nobody but in place of a missing header, where a name of no known type stands in.
bool isUndeclared(const ValueDecl *decl) {
  return decl->getType()->isSpecificBuiltinType(BuiltinType::Dependent);
}

bool isUndeclared(Qualifier qualifier);

bool isUndeclared(QualType type) {
  while (!type.isNull()) {
    if (const auto *alias = dyn_cast<TypedefType>(type.getTypePtr())) {
      type = alias->getDecl()->getUnderlyingType();
      if (type->isSpecificBuiltinType(BuiltinType::Dependent))
        return true;
    } else if (const auto *member = dyn_cast<DependentNameType>(type.getTypePtr())) {
      return isUndeclared(member->getQualifier());
    } else if (const auto *specialization =
                   dyn_cast<TemplateSpecializationType>(type.getTypePtr())) {
      const DependentTemplateName *name =
          specialization->getTemplateName().getAsDependentTemplateName();
      return name && isUndeclared(name->getQualifier());
    } else {
      return false;
    }
  }
  return false;
}

bool isUndeclared(Qualifier qualifier) {
  const clang::Type *type = typeOf(qualifier);
  return type && isUndeclared(QualType(type, 0));
}

// The object behind `->`, `*`, `.get()` and members of it.
const Expr *wholeObject(const Expr *expr) {
  while ((expr = strip(expr))) {
    const Expr *inner = nullptr;
    if (const auto *member = dyn_cast<MemberExpr>(expr)) {
      inner = member->getBase();
    } else if (const auto *dependent = dyn_cast<CXXDependentScopeMemberExpr>(expr)) {
      inner = dependent->isImplicitAccess() ? nullptr : dependent->getBase();
    } else if (const auto *op = dyn_cast<UnaryOperator>(expr)) {
      inner = op->getSubExpr();
    } else if (const auto *call = dyn_cast<CXXOperatorCallExpr>(expr)) {
      inner = call->getOperator() == OO_Arrow || call->getOperator() == OO_Star ? call->getArg(0)
                                                                                : nullptr;
    } else if (const auto *method = dyn_cast<CXXMemberCallExpr>(expr)) {
      inner = method->getMethodDecl() && method->getMethodDecl()->getParent()->isInStdNamespace() &&
                      method->getNumArgs() == 0
                  ? method->getImplicitObjectArgument()
                  : nullptr;
    }
    if (!inner)
      return expr;
    expr = inner;
  }
  return nullptr;
}

// What a method or an operator is called of.
const Expr *calledObject(const CallExpr *call) {
  if (const auto *member = dyn_cast<CXXMemberCallExpr>(call))
    return member->getImplicitObjectArgument();
  if (const auto *op = dyn_cast<CXXOperatorCallExpr>(call))
    return op->getNumArgs() ? op->getArg(0) : nullptr;
  const Expr *callee = call->getCallee()->IgnoreParenImpCasts();
  if (const auto *member = dyn_cast<CXXDependentScopeMemberExpr>(callee))
    return member->isImplicitAccess() ? nullptr : member->getBase();
  return isa<DeclRefExpr>(callee) ? callee : nullptr;
}

bool wasToldDevice(const Expr *object, llvm::SmallPtrSetImpl<const VarDecl *> &followed) {
  object = object ? wholeObject(object) : nullptr;
  if (!object)
    return false;
  if (const auto *reference = dyn_cast<DeclRefExpr>(object)) {
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    return variable && !isa<ParmVarDecl>(variable) && followed.insert(variable).second &&
           wasToldDevice(variable->getInit(), followed);
  }
  if (const auto *made = dyn_cast<CXXNewExpr>(object))
    return made->getInitializer() && wasToldDevice(made->getInitializer(), followed);
  // The arguments of a constructor, of make_unique, of what a template leaves open.
  if (const auto *call = dyn_cast<CallExpr>(object))
    return anyNamesDevice(llvm::ArrayRef(call->getArgs(), call->getNumArgs()));
  llvm::SmallVector<const Expr *, 4> parts;
  for (const Stmt *part : object->children())
    if (const auto *expr = dyn_cast_or_null<Expr>(part))
      parts.push_back(expr);
  return anyNamesDevice(parts);
}

// Names a device: `x.get_device()`, `stream.device_index()`, also through a variable.
struct DeviceFinder : AstVisitor {
  bool VisitCallExpr(CallExpr *call) override {
    static const llvm::StringSet<> kNames{"get_device", "device", "device_index", "index"};
    const FunctionDecl *callee = calledFunction(call);
    found |= callee && isTorchDecl(callee) && kNames.contains(nameOf(callee));
    return !found;
  }
  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    if (variable && variable->isLocalVarDecl() && variable->getInit() &&
        variable->getType()->isIntegerType() && followed.insert(variable).second)
      TraverseStmt(const_cast<Expr *>(variable->getInit()));
    return !found;
  }
  llvm::SmallPtrSet<const VarDecl *, 4> followed;
  bool found = false;
};
// Of any kind of device, as c10::Stream is: it knows its device, and no kernel is launched on it as
// it is.
bool isGenericStream(QualType type) {
  const CXXRecordDecl *record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record && record->getDeclName().isIdentifier() && record->getName() == "Stream";
}

} // namespace

bool anyNamesDevice(llvm::ArrayRef<const Expr *> arguments) {
  DeviceFinder finder;
  for (const Expr *argument : arguments) {
    const QualType type = argument->getType();
    if (isStream(type)) {
      if (isGenericStream(type)) {
        if (isa<DeclRefExpr>(strip(argument))) // also a copy of it
          return true;
        finder.TraverseStmt(const_cast<Expr *>(argument));
      }
      continue;
    }
    if (!type.isNull() && !type->isUndeducedType() && (holdsTensor(type) || namesDevice(type)))
      return true;
    finder.TraverseStmt(const_cast<Expr *>(argument));
  }
  return finder.found;
}

bool isOfToldObject(const CallExpr *call) {
  llvm::SmallPtrSet<const VarDecl *, 4> followed;
  return wasToldDevice(calledObject(call), followed);
}

bool callsUndeclared(const CallExpr *call) {
  const Expr *callee = call->getCallee()->IgnoreParenImpCasts();
  if (const auto *name = dyn_cast<DependentScopeDeclRefExpr>(callee))
    return isUndeclared(name->getQualifier());
  if (const auto *named = dyn_cast<DeclRefExpr>(callee); named && isUndeclared(named->getDecl()))
    return true;
  const Expr *object = calledObject(call);
  object = object ? strip(object) : nullptr;
  const auto *named = object ? dyn_cast<DeclRefExpr>(object) : nullptr;
  const auto *variable = named ? dyn_cast<VarDecl>(named->getDecl()) : nullptr;
  if (!variable)
    return object && isUndeclared(object->getType());
  // Its maker is elsewhere, and may have told it the device.
  if (isa<ParmVarDecl>(variable))
    return false;
  QualType type = variable->getType();
  if (type->getContainedAutoType() && variable->getInit())
    type = strip(variable->getInit())->getType();
  return isUndeclared(type->isPointerType() ? type->getPointeeType() : type);
}

} // namespace devsan::analyzer
