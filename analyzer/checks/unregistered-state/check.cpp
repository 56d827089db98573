#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/unresolved_code.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/device_check.h"
#include "analyzer/model/module_state.h"

#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

namespace {

using namespace clang;
using namespace clang::ast_matchers;

// What the methods of a class do to one tensor member.
struct MemberUse {
  const FieldDecl *field = nullptr;
  bool submodule = false;            // a module; else a tensor or several
  bool several = false;              // modules in a container
  const Expr *initialised = nullptr; // the factory that made it, or the value, in the constructor
  Place initial;                     // where it was then
  const Expr *combined = nullptr;    // where it first meets another tensor
  std::vector<const Expr *> sites;   // every value that the constructors gave it, as written
  bool read_on_host = false;         // by an accessor, or an operator with host tensors
  bool meets_others = false;         // that are not known to be on the host
  bool registered = false;
  bool rebound = false; // set to another tensor by a method
  bool follows = false; // moved, or made anew on the device of what comes in
};

// A container of the library's with modules as elements, which does not register them.
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

bool names(const Stmt *statement, const ValueDecl *decl) {
  return contains(statement, [decl](const Stmt *part) {
    const auto *member = dyn_cast<MemberExpr>(part);
    const auto *reference = dyn_cast<DeclRefExpr>(part);
    return (member && member->getMemberDecl() == decl) ||
           (reference && reference->getDecl() == decl);
  });
}

bool isRegistration(llvm::StringRef name) {
  static const llvm::StringSet<> kNames{"register_module",    "replace_module", "register_buffer",
                                        "register_parameter", "push_back",      "insert",
                                        "emplace_back",       "extend",         "update"};
  return kNames.contains(name);
}

// Definitions of methods outside of their class that redeclare nothing in it.
struct UnmatchedMethods : AstVisitor {
  llvm::DenseMap<const CXXRecordDecl *, llvm::SmallVector<const CXXMethodDecl *, 2>> found;

  bool VisitCXXMethodDecl(CXXMethodDecl *method) override {
    if (method->isOutOfLine() && method->isFirstDecl() && method->doesThisDeclarationHaveABody())
      found[method->getParent()->getCanonicalDecl()].push_back(method);
    return true;
  }
  bool TraverseStmt(Stmt *, DataRecursionQueue * = nullptr) override { return true; }
};

class UnregisteredStateCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

  // One look per class: a member is judged by what all methods do to it, so the class has to be
  // complete.
  void registerMatchers(MatchFinder *finder) override {
    finder->addMatcher(
        cxxRecordDecl(isDefinition(), unless(isImplicit()), unless(isExpansionInSystemHeader()))
            .bind("class"),
        this);
  }

  void check(const MatchFinder::MatchResult &result) override {
    const auto *record = result.Nodes.getNodeAs<CXXRecordDecl>("class");
    if (isLibraryDecl(record) || record->isLambda() || !DeviceModel::isStateful(record))
      return;
    useModel(*result.Context);
    examineClass(record);
  }

  void onEndOfTranslationUnit() override {
    unmatched_.reset();
    DeviceCheck::onEndOfTranslationUnit();
  }

protected:
  void examine(const FunctionFacts &) override {}

private:
  void examineClass(const CXXRecordDecl *record) {
    std::vector<MemberUse> members;
    for (const FieldDecl *field : record->fields()) {
      QualType type = field->getType();
      // A module behind a raw pointer belongs to somebody else.
      bool submodule = derivesFromModule(record) && isModule(type) && !type->isPointerType();
      bool several = derivesFromModule(record) && holdsModules(type);
      if (!type->isReferenceType() &&
          (submodule || several || (holdsTensor(type) && !isModule(type)))) {
        members.push_back({});
        members.back().field = field;
        members.back().submodule = submodule || several;
        members.back().several = several;
      }
    }
    if (members.empty())
      return;
    const std::vector<const CXXMethodDecl *> methods = definitionsOf(record);
    if (registersElsewhere(methods))
      return;
    bool constructed = false;
    for (const CXXMethodDecl *method : methods)
      if (const FunctionFacts *facts =
              isa<CXXConstructorDecl>(method) ? model().facts(method) : nullptr) {
        constructed = true;
        collectConstruction(*facts, members);
      }
    if (!constructed && !isConstructedElsewhere(record))
      collectDefaults(members);
    for (const CXXMethodDecl *method : methods)
      if (const FunctionFacts *facts =
              isa<CXXConstructorDecl>(method) ? nullptr : model().facts(method))
        for (MemberUse &member : members)
          if (!member.several)
            collectUse(*facts, method, member);
    for (MemberUse &member : members) {
      if (member.several)
        collectModules(methods, member);
      else if (member.submodule && member.initialised)
        collectHandedOn(methods, member);
      else if (member.initialised)
        collectUnresolved(methods, member);
    }
    for (const MemberUse &member : members)
      if (member.initialised && !member.registered && !member.follows)
        report(record, member);
  }

  // The methods with a body. One whose parameter has a type from a missing header is defined apart
  // from its declaration, which the compiler cannot match with it.
  std::vector<const CXXMethodDecl *> definitionsOf(const CXXRecordDecl *record) {
    std::vector<const CXXMethodDecl *> methods;
    for (const CXXMethodDecl *method : record->methods()) {
      const FunctionDecl *definition = nullptr;
      if (method->hasBody(definition))
        methods.push_back(cast<CXXMethodDecl>(definition));
    }
    if (!unmatched_) {
      UnmatchedMethods finder;
      for (Decl *decl : model().context().getTraversalScope())
        finder.TraverseDecl(decl);
      unmatched_ = std::move(finder.found);
    }
    for (const CXXMethodDecl *method : unmatched_->lookup(record->getCanonicalDecl()))
      methods.push_back(method);
    return methods;
  }

  void collectConstruction(const FunctionFacts &facts, std::vector<MemberUse> &members) {
    for (MemberUse &member : members) {
      if (member.several)
        continue;
      // Of several constructors the first one's place is reported.
      const bool by_earlier = member.initialised;
      Path path{nullptr, {member.field}};
      auto last = facts.exit.values.find(path);
      if (last != facts.exit.values.end() && last->second.has(Origin::Kind::kRegistered))
        member.registered = true;
      for (const Operation &operation : facts.operations) {
        if (operation.kind != Operation::Kind::kAssign || operation.path != path)
          continue;
        const Value &value = operation.result;
        if (member.submodule && !written(facts.function, operation.operands.front().expr))
          continue;
        // Whatever is registered under this name, or under another and kept here too.
        if (value.has(Origin::Kind::kRegistered))
          member.registered = true;
        if (member.submodule ? value.has(Origin::Kind::kNewModule) : made(value)) {
          member.sites.push_back(operation.operands.front().expr);
          if (by_earlier)
            continue;
          member.initialised = strip(operation.operands.front().expr);
          member.initial = value.place;
        }
      }
    }
  }

  // Not what the compiler adds for a member that neither the initialiser list nor the member's own
  // declaration sets.
  static bool written(const FunctionDecl *function, const Expr *value) {
    const auto *constructor = dyn_cast<CXXConstructorDecl>(function);
    return !constructor || isa<CXXDefaultInitExpr>(value) ||
           llvm::none_of(constructor->inits(), [&](const CXXCtorInitializer *init) {
             return init->getInit() == value && !init->isWritten();
           });
  }

  // Its constructors are in another file, where they may register whatever there is.
  static bool isConstructedElsewhere(const CXXRecordDecl *record) {
    return llvm::any_of(record->ctors(), [](const CXXConstructorDecl *constructor) {
      return constructor->isUserProvided() && !constructor->hasBody();
    });
  }

  // A constructor leaves the members to a function whose body is elsewhere.
  static bool registersElsewhere(const std::vector<const CXXMethodDecl *> &methods) {
    auto unknown = [&](const Stmt *part) {
      const auto *call = dyn_cast<CXXMemberCallExpr>(part);
      const CXXMethodDecl *callee = call ? call->getMethodDecl() : nullptr;
      return callee && !callee->isConst() && !isLibraryDecl(callee) && !callee->hasBody() &&
             isa<CXXThisExpr>(call->getImplicitObjectArgument()->IgnoreParenImpCasts());
    };
    return llvm::any_of(methods, [&](const CXXMethodDecl *method) {
      return isa<CXXConstructorDecl>(method) && contains(method->getBody(), unknown);
    });
  }

  // A submodule that any method registers, moves, or hands to code that may do so.
  static void collectHandedOn(const std::vector<const CXXMethodDecl *> &methods,
                              MemberUse &member) {
    auto registers = [](const Stmt *part) {
      const auto *call = dyn_cast<CallExpr>(part);
      llvm::StringRef name = nameOf(calleeOf(call));
      return name == "register_module" || name == "replace_module";
    };
    member.registered |= llvm::any_of(
        member.sites, [&](const Expr *site) { return contains(asWritten(site), registers); });
    auto handsOn = [&](const Stmt *part) {
      const auto *call = dyn_cast<CallExpr>(part);
      const auto *construct = dyn_cast<CXXConstructExpr>(part);
      // What did not parse may well register it.
      if (isa<RecoveryExpr>(part) || (call && !call->getDirectCallee()))
        return names(part, member.field);
      if (!call && !construct)
        return false;
      llvm::StringRef name = nameOf(calleeOf(cast<Expr>(part)));
      bool unknown = call && (!call->getDirectCallee() || !isLibraryDecl(call->getDirectCallee()));
      const Expr *object = receiverOf(call);
      if (name == "to" && object && names(object, member.field))
        return true;
      return llvm::any_of(argumentsOf(cast<Expr>(part)), [&](const Expr *argument) {
        if (isRegistration(name))
          return registersValueOf(argument, member);
        const auto *given = dyn_cast<MemberExpr>(strip(argument));
        return unknown && given && given->getMemberDecl() == member.field;
      });
    };
    for (const CXXMethodDecl *method : methods) {
      member.registered |= contains(method->getBody(), handsOn);
      if (const auto *constructor = dyn_cast<CXXConstructorDecl>(method))
        for (const CXXCtorInitializer *initializer : constructor->inits())
          member.registered |= initializer->getInit() && contains(initializer->getInit(), handsOn);
    }
  }

  // Modules that a constructor makes and puts into a container of the standard library's. What it
  // is handed has an owner, who may register it.
  static void collectModules(const std::vector<const CXXMethodDecl *> &methods, MemberUse &member) {
    const auto note = [&](const Expr *value, const Expr *site) {
      if (makesModule(value) && !member.initialised)
        member.initialised = site;
      return false;
    };
    const auto collect = [&](const Stmt *part) {
      const auto *call = dyn_cast<CallExpr>(part);
      const Expr *object = receiverOf(call);
      if (!object || !insertsInto(nameOf(calleeOf(call)), call, object, member.field))
        return false;
      const llvm::SmallVector<const Expr *, 4> values = argumentsOf(call);
      for (const Expr *value : values)
        note(value, call);
      // `layers.emplace_back(3, 3)` makes what it puts there.
      if (nameOf(calleeOf(call)) == "emplace_back" && !values.empty() && !member.initialised &&
          llvm::none_of(values, [](const Expr *value) {
            return isModule(value->getType()) || value->isTypeDependent() ||
                   value->getType()->isNullPtrType();
          }))
        member.initialised = call;
      return false;
    };
    if (const Expr *initializer =
            member.field->hasInClassInitializer() ? member.field->getInClassInitializer() : nullptr)
      note(initializer, initializer);
    for (const CXXMethodDecl *method : methods) {
      const auto *constructor = dyn_cast<CXXConstructorDecl>(method);
      if (constructor)
        for (const CXXCtorInitializer *initializer : constructor->inits())
          if (initializer->getMember() == member.field && initializer->isWritten())
            note(initializer->getInit(), initializer->getInit());
      if (constructor || isResetOfConstructor(method))
        contains(method->getBody(), collect);
    }
    if (member.initialised)
      for (const CXXMethodDecl *method : methods)
        member.registered |= handsOnModules(method, member.field);
  }

  // `field.push_back(…)`, `field = …`, `field[i] = …`.
  static bool insertsInto(llvm::StringRef name, const CallExpr *call, const Expr *object,
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

  // The value is a module that is made here, or has one among its elements.
  static bool makesModule(const Expr *value) {
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

  // The expression comes from the member: through variables, references and loops over it.
  static bool comesFrom(const Stmt *expr, const ValueDecl *source, unsigned depth = 0) {
    return contains(expr, [&](const Stmt *part) {
      if (const auto *member = dyn_cast<MemberExpr>(part))
        return member->getMemberDecl() == source;
      const auto *reference = dyn_cast<DeclRefExpr>(part);
      const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      return variable &&
             (variable == source || (variable->getInit() && depth < 6 &&
                                     comesFrom(variable->getInit(), source, depth + 1)));
    });
  }

  // The method registers or moves the elements, or gives them to code that may do so.
  static bool handsOnModules(const CXXMethodDecl *method, const FieldDecl *field) {
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

  // Through variables: `auto layer = register_module(…); layers.push_back(layer);`
  static bool registersModule(const Stmt *value, unsigned depth = 0) {
    return contains(value, [&](const Stmt *part) {
      const auto *call = dyn_cast<CallExpr>(part);
      const llvm::StringRef name = nameOf(calleeOf(call));
      if (name == "register_module" || name == "replace_module")
        return true;
      const auto *reference = dyn_cast<DeclRefExpr>(part);
      const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      return variable && variable->getInit() && depth < 6 &&
             registersModule(variable->getInit(), depth + 1);
    });
  }

  // What could not be resolved may set the member to something that follows.
  void collectUnresolved(const std::vector<const CXXMethodDecl *> &methods, MemberUse &member) {
    for (const CXXMethodDecl *method : methods)
      contains(method->getBody(), [&](const Stmt *part) {
        const auto *expr = dyn_cast<Expr>(part);
        if (!expr || !(expr->containsErrors() || expr->isTypeDependent()) ||
            !names(expr, member.field))
          return false;
        const auto *assignment = dyn_cast<BinaryOperator>(expr);
        member.follows |= assignment && assignment->isAssignmentOp() &&
                          !isa<CXXConstructorDecl>(method) &&
                          names(assignment->getLHS(), member.field);
        const llvm::StringRef text = textOf(model().context(), expr->getSourceRange());
        member.registered |=
            text.contains("register_buffer") || text.contains("register_parameter");
        return false;
      });
  }

  // The argument of a registration is the member, or the variable that the member was set from.
  static bool registersValueOf(const Expr *argument, const MemberUse &member) {
    if (names(argument, member.field))
      return true;
    return llvm::any_of(member.sites, [&](const Expr *site) {
      const auto *variable = dyn_cast<DeclRefExpr>(strip(site));
      return variable && names(argument, variable->getDecl());
    });
  }

  // In-class initialisers of a class without a constructor of its own.
  void collectDefaults(std::vector<MemberUse> &members) {
    for (MemberUse &member : members) {
      const Expr *initializer =
          member.field->hasInClassInitializer() ? member.field->getInClassInitializer() : nullptr;
      if (!initializer || member.several)
        continue;
      const Expr *value = !member.submodule          ? factoryIn(initializer)
                          : makesModule(initializer) ? initializer
                                                     : nullptr;
      if (!value)
        continue;
      member.sites.push_back(initializer);
      member.initialised = value;
      member.initial = Place::defaultHost();
      member.registered |= registers(initializer);
    }
  }

  static const Expr *factoryIn(const Expr *expr) {
    expr = strip(expr);
    if (isFactory(calleeOf(expr)))
      return expr;
    if (const auto *construct = dyn_cast<CXXConstructExpr>(expr);
        construct && construct->getNumArgs() == 1)
      return factoryIn(construct->getArg(0));
    return nullptr;
  }

  static bool registers(const Stmt *statement) {
    if (const auto *call = dyn_cast_or_null<CallExpr>(statement))
      if (llvm::StringRef name = nameOf(calleeOf(call));
          name == "register_buffer" || name == "register_parameter")
        return true;
    return llvm::any_of(statement->children(),
                        [](const Stmt *child) { return child && registers(child); });
  }

  // Made by the constructor: on the host, or on a device that was chosen then. A tensor that the
  // constructor was given is its caller's.
  static bool made(const Value &value) {
    if (value.has(Origin::Kind::kFactory) || value.place.isSpelledDevice())
      return true;
    const ValueDecl *chosen = value.place.is(Place::Kind::kOf) ? value.place.of.root : nullptr;
    return chosen && namesDevice(chosen->getType());
  }

  void collectUse(const FunctionFacts &facts, const CXXMethodDecl *method, MemberUse &member) {
    Path path{nullptr, {member.field}};
    for (const Operation &operation : facts.operations) {
      bool on_member = operation.path == path;
      if (on_member && operation.kind == Operation::Kind::kAssign)
        collectAssignment(facts, operation, method, member);
      else if (operation.kind == Operation::Kind::kMove && on_member)
        member.follows = true;
      if (operation.result.has(Origin::Kind::kRegistered) &&
          llvm::any_of(operation.operands,
                       [&](const Operand &operand) { return facts.path(operand.expr) == path; }))
        member.registered = true;
      if (operation.name == "set_data" && on_member)
        member.follows = true;
      if (operation.kind != Operation::Kind::kTensorOp)
        continue;
      const auto is_member = [&](const Operand &operand) {
        return facts.path(operand.expr) == path;
      };
      if (llvm::none_of(operation.operands, is_member))
        continue;
      // A host pointer into it.
      member.read_on_host |= operation.name == "accessor";
      for (const Operand &operand : operation.operands)
        if (!is_member(operand))
          (operand.value.place.onHost() ? member.read_on_host : member.meets_others) = true;
      if (operation.operands.size() > 1 && !member.combined)
        member.combined = operation.expr;
    }
  }

  void collectAssignment(const FunctionFacts &facts, const Operation &assignment,
                         const CXXMethodDecl *method, MemberUse &member) {
    const Value &value = assignment.result;
    const Expr *expr = assignment.operands.front().expr;
    if (value.has(Origin::Kind::kRegistered))
      member.registered = true;
    member.rebound |= !isResetOfConstructor(method);
    // The old value goes into the new one: a running sum, which stays where it is, unless it is
    // moved on the way.
    if (mentions(facts, expr, member.field))
      member.follows |= moves(facts, expr);
    else if (!value.place.onHost() && !value.place.is(Place::Kind::kNone))
      member.follows = true;
    else if (method->getParent() && isResetOfConstructor(method) && made(value) &&
             !member.initialised) {
      member.initialised = strip(expr);
      member.initial = value.place;
    }
  }

  // Cloneable's modules make their state in reset(), which the constructor calls.
  static bool isResetOfConstructor(const CXXMethodDecl *method) {
    return nameOf(method) == "reset";
  }

  static bool mentions(const FunctionFacts &facts, const Stmt *statement, const FieldDecl *field) {
    if (const auto *member = dyn_cast<MemberExpr>(statement);
        member && member->getMemberDecl() == field)
      return true;
    return llvm::any_of(statement->children(),
                        [&](const Stmt *child) { return child && mentions(facts, child, field); });
  }

  static bool moves(const FunctionFacts &facts, const Expr *expr) {
    return llvm::any_of(facts.operations, [&](const Operation &operation) {
      return operation.kind == Operation::Kind::kMove && within(operation.expr, expr);
    });
  }

  static bool within(const Expr *inner, const Stmt *outer) {
    return inner == outer || llvm::any_of(outer->children(), [&](const Stmt *child) {
             return child && within(inner, child);
           });
  }

  void report(const CXXRecordDecl *record, const MemberUse &member) {
    if (member.submodule)
      return reportSubmodule(record, member);
    // A metric's state on the device that its constructor was given is where the user wants it.
    bool module = derivesFromModule(record);
    // Nor is one that only ever meets tensors of the host.
    const bool belongs_there = member.read_on_host && !member.meets_others;
    if ((!module && (!member.initial.onHost() || belongs_there)) || !firstAt(member.initialised))
      return;
    diag(locationOf(member.initialised),
         "tensor member '%0' of %select{metric|module}1 '%2' is %select{made on %3 and stays "
         "there|neither buffer nor parameter, so it does not follow .to()}1")
        << member.field->getName() << module << record->getName() << member.initial.text()
        << member.initialised->getSourceRange();
    // Where a method puts another tensor there, the one that is registered is of no use to it.
    if (module && isTensor(member.field->getType()) && !member.rebound)
      offerRegistration(record, member, "register_buffer");
    if (!module)
      advise(locationOf(member.initialised), "create it on the device of the first input");
    diag(member.field->getLocation(), "declared here", DiagnosticIDs::Note);
    if (member.combined)
      diag(locationOf(member.combined), "meets another tensor here", DiagnosticIDs::Note)
          << member.combined->getSourceRange();
  }

  ModuleState stateOf(const CXXRecordDecl *record, const MemberUse &member) {
    if (member.several)
      return moduleStateOf(member.field->getType());
    ModuleState state = moduleStateOf(member.initialised);
    const auto puts = [&](const Stmt *part) {
      const auto *call = dyn_cast<CallExpr>(part);
      return call && isRegistration(nameOf(calleeOf(call))) && receiverOf(call) &&
             names(receiverOf(call), member.field);
    };
    for (const CXXMethodDecl *method : definitionsOf(record))
      if (contains(method->getBody(), puts))
        state.tensors = true;
    return state;
  }

  void reportSubmodule(const CXXRecordDecl *record, const MemberUse &member) {
    const ModuleState state = stateOf(record, member);
    if (state.isEmpty() || !firstAt(member.initialised))
      return;
    if (state.tensors)
      diag(locationOf(member.initialised),
           "%select{submodule '%0' of module '%1' is not registered, so it does "
           "not follow .to(), and its|the modules in '%0' of module '%1' are not "
           "registered, so they do not follow .to(), and their}2 parameters are "
           "not among the module's")
          << member.field->getName() << record->getName() << member.several
          << member.initialised->getSourceRange();
    else
      diag(locationOf(member.initialised),
           "%select{submodule '%0' of module '%1' is|the modules in '%0' of module '%1' are}2 not "
           "registered, so train() and eval() do not reach %select{it|them}2")
          << member.field->getName() << record->getName() << member.several
          << member.initialised->getSourceRange();
    if (!member.several)
      offerRegistration(record, member, "register_module");
    advise(locationOf(member.initialised),
           member.several ? "give each to `register_module`, or keep them in a `ModuleList`"
                          : "make it with `register_module`");
    diag(member.field->getLocation(), "declared here", DiagnosticIDs::Note);
  }

  static const Expr *asWritten(const Expr *value) {
    if (const auto *by_default = dyn_cast<CXXDefaultInitExpr>(value))
      value = by_default->getExpr();
    return value->IgnoreUnlessSpelledInSource();
  }

  // Registers each value that a constructor gives the member. Keys have to be unique, so a
  // constructor that sets it twice is left alone, and so is a template, where the method's name
  // needs a `this`. A registered member has a key in checkpoints, which those saved before lack, so
  // this is a fix to choose.
  void offerRegistration(const CXXRecordDecl *record, const MemberUse &member,
                         llvm::StringRef method) {
    const std::vector<const CXXMethodDecl *> methods = definitionsOf(record);
    std::size_t constructors = llvm::count_if(methods, [](const CXXMethodDecl *method) {
      return isa<CXXConstructorDecl>(method) && !method->isImplicit();
    });
    bool once = member.sites.size() == std::max<std::size_t>(constructors, 1);
    if (!once || record->isDependentContext() || isa<ClassTemplateSpecializationDecl>(record) ||
        usesKey(methods, member.field->getName()))
      return;
    llvm::SmallVector<FixItHint, 4> fixes;
    for (const Expr *site : member.sites)
      if (!registerAt(site, methods, *member.field, method, fixes))
        return;
    auto choice = diag(locationOf(member.initialised),
                       "registered, it has a key in checkpoints: those saved before lack it, and "
                       "loading them fails",
                       DiagnosticIDs::Note);
    for (const FixItHint &fix : fixes)
      choice << fix;
  }

  static bool usesKey(const std::vector<const CXXMethodDecl *> &methods, llvm::StringRef key) {
    const auto uses = [&](const Stmt *part) {
      const auto *literal = dyn_cast<StringLiteral>(part);
      return literal && literal->isOrdinary() && literal->getString() == key;
    };
    return llvm::any_of(
        methods, [&](const CXXMethodDecl *method) { return contains(method->getBody(), uses); });
  }

  // False where it cannot be done.
  bool registerAt(const Expr *site, const std::vector<const CXXMethodDecl *> &methods,
                  const FieldDecl &field, llvm::StringRef method,
                  llvm::SmallVectorImpl<FixItHint> &fixes) {
    const Expr *written = asWritten(site);
    if (!editable(written) || written->containsErrors() || written->getSourceRange().isInvalid() ||
        spelling(written).find("requires_grad") != std::string::npos)
      return false;
    const std::string call = (method + "(\"" + field.getName() + "\", ").str();
    const bool by_default = isa<CXXDefaultInitExpr>(site) || field.getInClassInitializer() == site;
    const CXXCtorInitializer *initializer = by_default ? nullptr : initializerBy(methods, site);
    const bool in_braces = by_default ? field.getInClassInitStyle() == ICIS_ListInit
                                      : initializer && startsWith(initializer->getLParenLoc(), '{');
    // `pool(options)` makes the member itself: what it is made of now makes what is registered.
    if (in_braces || (initializer && written->getBeginLoc() == initializer->getMemberLocation()))
      return registerInPlace(initializer, field, call, fixes);
    if (isa<InitListExpr>(written))
      return false;
    fixes.push_back(FixItHint::CreateInsertion(written->getBeginLoc(), call));
    fixes.push_back(FixItHint::CreateInsertion(endOf(written->getEndLoc()), ")"));
    return true;
  }

  // `pool(2)` becomes `pool(register_module("pool", MaxPool2d(2)))`, `Linear fc{2, 3};` becomes
  // `Linear fc = register_module("fc", Linear{2, 3});`.
  bool registerInPlace(const CXXCtorInitializer *initializer, const FieldDecl &field,
                       const std::string &call, llvm::SmallVectorImpl<FixItHint> &fixes) {
    const SourceRange type =
        field.getTypeSourceInfo()->getTypeLoc().getUnqualifiedLoc().getSourceRange();
    const SourceRange range =
        initializer ? SourceRange(initializer->getLParenLoc(), initializer->getRParenLoc())
                    : field.getInClassInitializer()->getSourceRange();
    const llvm::StringRef name = textOf(model().context(), type);
    if (name.empty() || type.getBegin().isMacroID() || !range.getBegin().isFileID() ||
        !range.getEnd().isFileID() || range.isInvalid())
      return false;
    const bool in_braces = startsWith(range.getBegin(), '{');
    if (!initializer) {
      fixes.push_back(FixItHint::CreateInsertion(range.getBegin(), (" = " + call + name).str()));
      fixes.push_back(FixItHint::CreateInsertion(endOf(range.getEnd()), ")"));
      return true;
    }
    fixes.push_back(FixItHint::CreateReplacement(
        SourceRange(range.getBegin()), ("(" + call + name + (in_braces ? "{" : "(")).str()));
    fixes.push_back(
        FixItHint::CreateReplacement(SourceRange(range.getEnd()), in_braces ? "}))" : ")))"));
    return true;
  }

  static const CXXCtorInitializer *initializerBy(const std::vector<const CXXMethodDecl *> &methods,
                                                 const Expr *value) {
    for (const CXXMethodDecl *method : methods)
      if (const auto *constructor = dyn_cast<CXXConstructorDecl>(method))
        for (const CXXCtorInitializer *initializer : constructor->inits())
          if (initializer->getInit() == value)
            return initializer;
    return nullptr;
  }

  bool startsWith(SourceLocation location, char character) {
    return *model().context().getSourceManager().getCharacterData(location) == character;
  }

  SourceLocation endOf(SourceLocation last_token) {
    return Lexer::getLocForEndOfToken(last_token, 0, model().context().getSourceManager(),
                                      getLangOpts());
  }

  std::optional<llvm::DenseMap<const CXXRecordDecl *, llvm::SmallVector<const CXXMethodDecl *, 2>>>
      unmatched_;
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(UnregisteredStateCheck, unregistered_state)
