#include "analyzer/model/kept_modules.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"

#include <clang/AST/ExprCXX.h>
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

// `field.push_back(…)`, `field = …`, `field[i] = …`.
bool insertsInto(llvm::StringRef name, const CallExpr *call, const Expr *object,
                 const FieldDecl *field) {
  static const llvm::StringSet<> kPuts{"push_back", "emplace_back", "push_front",      "insert",
                                       "emplace",   "try_emplace",  "insert_or_assign"};
  object = strip(object);
  const auto *op = dyn_cast<CXXOperatorCallExpr>(call);
  if (op && op->getOperator() != OO_Equal)
    return false;
  if (!op && !kPuts.contains(name))
    return false;
  if (const auto *element = dyn_cast<CXXOperatorCallExpr>(object);
      op && element && element->getOperator() == OO_Subscript)
    object = strip(element->getArg(0));
  const auto *target = dyn_cast<MemberExpr>(object);
  return target && target->getMemberDecl() == field;
}

// The expression comes from the member: through variables, references and loops over it.
bool comesFrom(const Stmt *expr, const ValueDecl *source, unsigned depth = 0) {
  return contains(expr, [&](const Stmt *part) {
    if (const auto *member = dyn_cast<MemberExpr>(part))
      return member->getMemberDecl() == source;
    const auto *reference = dyn_cast<DeclRefExpr>(part);
    const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    return variable && (variable == source || (variable->getInit() && depth < 6 &&
                                               comesFrom(variable->getInit(), source, depth + 1)));
  });
}

// Through variables: `auto layer = register_module(…); layers.push_back(layer);`
bool registersModule(const Stmt *value, unsigned depth = 0) {
  return contains(value, [&](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    if (isModuleRegistration(nameOf(calleeOf(call))))
      return true;
    const auto *reference = dyn_cast<DeclRefExpr>(part);
    const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    return variable && variable->getInit() && depth < 6 &&
           registersModule(variable->getInit(), depth + 1);
  });
}

} // namespace

bool holdsModules(QualType type) {
  const auto *container =
      dyn_cast_or_null<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
  // What refers to a module, or makes one, keeps none.
  static const llvm::StringSet<> kKeepNothing{"weak_ptr", "reference_wrapper", "function"};
  if (!container || isModule(type) || !isLibraryDecl(container) ||
      kKeepNothing.contains(container->getName()))
    return false;
  return llvm::any_of(container->getTemplateArgs().asArray(), [](const TemplateArgument &argument) {
    if (argument.getKind() != TemplateArgument::Type || argument.getAsType()->isPointerType())
      return false;
    return isModule(argument.getAsType()) || holdsModules(argument.getAsType());
  });
}

bool isRegistration(llvm::StringRef name) {
  static const llvm::StringSet<> kNames{"register_module",    "replace_module", "register_buffer",
                                        "register_parameter", "push_back",      "insert",
                                        "emplace_back",       "extend",         "update"};
  return kNames.contains(name);
}

bool isModuleRegistration(llvm::StringRef name) {
  return name == "register_module" || name == "replace_module";
}

bool makesModule(const Expr *value) {
  value = strip(value);
  const auto any = [](auto &&parts) {
    return llvm::any_of(parts, [](const Expr *part) { return makesModule(part); });
  };
  if (const auto *reference = dyn_cast<DeclRefExpr>(value)) {
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    return variable && variable->isLocalVarDecl() && variable->getInit() &&
           !variable->getType()->isReferenceType() && makesModule(variable->getInit());
  }
  if (const auto *list = dyn_cast<InitListExpr>(value))
    return any(list->inits());
  if (const auto *list = dyn_cast<CXXStdInitializerListExpr>(value))
    return makesModule(list->getSubExpr());
  if (const auto *made = dyn_cast<CXXNewExpr>(value))
    return isModule(made->getAllocatedType());
  if (const auto *construct = dyn_cast<CXXConstructExpr>(value)) {
    const llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(construct);
    const bool wraps = arguments.size() == 1 && (isModule(arguments[0]->getType()) ||
                                                 strip(arguments[0])->getType()->isNullPtrType());
    if (construct->getConstructor()->getParent()->isInStdNamespace() || wraps)
      return any(arguments);
    return isModule(construct->getType());
  }
  const auto *call = dyn_cast<CallExpr>(value);
  const FunctionDecl *callee = calleeOf(call);
  if (!callee || !callee->isInStdNamespace())
    return false;
  if (nameOf(callee) == "make_shared" || nameOf(callee) == "make_unique")
    return isModule(call->getType());
  return nameOf(callee) == "make_pair" && any(call->arguments());
}

bool isResetOfConstructor(const CXXMethodDecl *method) {
  return nameOf(method) == "reset";
}

const Expr *firstModuleMade(const std::vector<const CXXMethodDecl *> &methods,
                            const FieldDecl *field) {
  const Expr *first = nullptr;
  const auto note = [&](const Expr *value, const Expr *site) {
    if (makesModule(value) && !first)
      first = site;
    return false;
  };
  const auto collect = [&](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    const Expr *object = receiverOf(call);
    if (!object || !insertsInto(nameOf(calleeOf(call)), call, object, field))
      return false;
    const llvm::SmallVector<const Expr *, 4> values = argumentsOf(call);
    for (const Expr *value : values)
      note(value, call);
    // `layers.emplace_back(3, 3)` makes what it puts there.
    if (nameOf(calleeOf(call)) == "emplace_back" && !values.empty() && !first &&
        llvm::none_of(values, [](const Expr *value) {
          return isModule(value->getType()) || value->isTypeDependent() ||
                 value->getType()->isNullPtrType();
        }))
      first = call;
    return false;
  };
  if (const Expr *initializer =
          field->hasInClassInitializer() ? field->getInClassInitializer() : nullptr)
    note(initializer, initializer);
  for (const CXXMethodDecl *method : methods) {
    const auto *constructor = dyn_cast<CXXConstructorDecl>(method);
    if (constructor)
      for (const CXXCtorInitializer *initializer : constructor->inits())
        if (initializer->getMember() == field && initializer->isWritten())
          note(initializer->getInit(), initializer->getInit());
    if (constructor || isResetOfConstructor(method))
      contains(method->getBody(), collect);
  }
  return first;
}

bool handsOnModules(const CXXMethodDecl *method, const FieldDecl *field) {
  llvm::SmallVector<const ValueDecl *, 4> kept{field}; // and the variables that were put there
  bool registered = false;
  const auto collect = [&](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    const Expr *object = receiverOf(call);
    if (!object || !insertsInto(nameOf(calleeOf(call)), call, object, field))
      return false;
    for (const Expr *value : argumentsOf(call)) {
      contains(value, [&](const Stmt *inner) {
        const auto *reference = dyn_cast<DeclRefExpr>(inner);
        const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
        if (variable && (isModule(variable->getType()) || holdsModules(variable->getType())))
          kept.push_back(variable);
        return false;
      });
      registered |= registersModule(value);
    }
    return false;
  };
  contains(method->getBody(), collect);
  const auto isKept = [&](const Stmt *expr) {
    return llvm::any_of(kept, [&](const ValueDecl *decl) { return comesFrom(expr, decl); });
  };
  const auto handsOn = [&](const Stmt *part) {
    // What did not parse may well register it.
    if (isa<RecoveryExpr>(part))
      return isKept(part);
    const auto *call = dyn_cast<CallExpr>(part);
    if (!call)
      return false;
    const FunctionDecl *callee = call->getDirectCallee();
    const llvm::StringRef name = nameOf(callee);
    const Expr *object = receiverOf(call);
    if (name == "to" && object && isKept(object))
      return true;
    const bool is_container =
        object && isModule(object->getType()) && isRegistration(name); // ModuleList and kin
    const bool runs_lambda =
        callee && callee->isInStdNamespace() && !object &&
        contains(call, [](const Stmt *inner) { return isa<LambdaExpr>(inner); });
    const bool unknown = !callee || !isLibraryDecl(callee);
    if (!is_container && !runs_lambda && !unknown && !registersModule(call))
      return false;
    return llvm::any_of(argumentsOf(call), [&](const Expr *argument) {
      return (isModule(argument->getType()) ||
              holdsModules(argument->getType().getNonReferenceType()) || runs_lambda ||
              argument->isTypeDependent()) &&
             isKept(argument);
    });
  };
  if (const auto *constructor = dyn_cast<CXXConstructorDecl>(method))
    for (const CXXCtorInitializer *initializer : constructor->inits())
      registered |=
          initializer->getInit() &&
          (contains(initializer->getInit(), handsOn) ||
           (initializer->getMember() == field && registersModule(initializer->getInit())));
  return registered || contains(method->getBody(), handsOn);
}

} // namespace devsan::analyzer
