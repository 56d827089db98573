#include "analyzer/check_registry.h"
#include "analyzer/support/device_check.h"
#include "analyzer/support/unresolved_code.h"

#include <clang/AST/RecursiveASTVisitor.h>
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
  const Expr *initialised = nullptr; // the factory that made it, or the value, in the constructor
  Place initial;                     // where it was then
  const Expr *combined = nullptr;    // where it first meets another tensor
  std::vector<const Expr *> sites;   // every value that the constructors gave it, as written
  bool registered = false;
  bool rebound = false; // set to another tensor by a method
  bool follows = false; // moved, or made anew on the device of what comes in
};

// Whether `statement` has a part that passes `test`.
bool contains(const Stmt *statement, llvm::function_ref<bool(const Stmt *)> test) {
  return test(statement) || llvm::any_of(statement->children(), [&](const Stmt *child) {
           return child && contains(child, test);
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
struct UnmatchedMethods : RecursiveASTVisitor<UnmatchedMethods> {
  llvm::DenseMap<const CXXRecordDecl *, llvm::SmallVector<const CXXMethodDecl *, 2>> found;

  bool VisitCXXMethodDecl(CXXMethodDecl *method) {
    if (method->isOutOfLine() && method->isFirstDecl() && method->doesThisDeclarationHaveABody())
      found[method->getParent()->getCanonicalDecl()].push_back(method);
    return true;
  }
  bool TraverseStmt(Stmt *) { return true; }
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
      if (!type->isReferenceType() && (submodule || (holdsTensor(type) && !isModule(type)))) {
        members.push_back({});
        members.back().field = field;
        members.back().submodule = submodule;
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
    if (!constructed)
      collectDefaults(members);
    for (const CXXMethodDecl *method : methods)
      if (const FunctionFacts *facts =
              isa<CXXConstructorDecl>(method) ? nullptr : model().facts(method))
        for (MemberUse &member : members)
          collectUse(*facts, method, member);
    for (MemberUse &member : members) {
      if (member.submodule && member.initialised)
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

  // Not what the compiler adds for a member that the initialiser list leaves out.
  static bool written(const FunctionDecl *function, const Expr *value) {
    const auto *constructor = dyn_cast<CXXConstructorDecl>(function);
    return !constructor || llvm::none_of(constructor->inits(), [&](const CXXCtorInitializer *init) {
      return init->getInit() == value && !init->isWritten();
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
    member.registered |=
        llvm::any_of(member.sites, [&](const Expr *site) { return contains(site, registers); });
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

  // What could not be resolved may set the member to something that follows.
  void collectUnresolved(const std::vector<const CXXMethodDecl *> &methods, MemberUse &member) {
    for (const CXXMethodDecl *method : methods)
      contains(method->getBody(), [&](const Stmt *part) {
        const auto *expr = dyn_cast<Expr>(part);
        if (!expr || !expr->containsErrors() || !names(expr, member.field))
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
      const Expr *value = initializer && !member.submodule ? factoryIn(initializer) : nullptr;
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
      bool meets = operation.kind == Operation::Kind::kTensorOp && operation.operands.size() > 1 &&
                   !member.combined;
      if (meets)
        for (const Operand &operand : operation.operands)
          if (facts.path(operand.expr) == path)
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
    if ((!module && !member.initial.onHost()) || !firstAt(member.initialised))
      return;
    {
      auto finding =
          diag(locationOf(member.initialised),
               "tensor member '%0' of %select{metric|module}1 '%2' is %select{made on %3 and stays "
               "there|neither buffer nor parameter, so it does not follow .to()}1")
          << member.field->getName() << module << record->getName() << member.initial.text()
          << member.initialised->getSourceRange();
      // Where a method puts another tensor there, the one that is registered is of no use to it.
      if (module && isTensor(member.field->getType()) && !member.rebound)
        registerAt(finding, record, member, "register_buffer");
    }
    if (!module)
      advise(locationOf(member.initialised), "create it on the device of the first input");
    diag(member.field->getLocation(), "declared here", DiagnosticIDs::Note);
    if (member.combined)
      diag(locationOf(member.combined), "meets another tensor here", DiagnosticIDs::Note)
          << member.combined->getSourceRange();
  }

  void reportSubmodule(const CXXRecordDecl *record, const MemberUse &member) {
    if (!firstAt(member.initialised))
      return;
    {
      auto finding = diag(locationOf(member.initialised),
                          "submodule '%0' of module '%1' is not registered, so it does not follow "
                          ".to(), and its parameters are not among the module's")
                     << member.field->getName() << record->getName()
                     << member.initialised->getSourceRange();
      registerAt(finding, record, member, "register_module");
    }
    advise(locationOf(member.initialised), "make it with `register_module`");
    diag(member.field->getLocation(), "declared here", DiagnosticIDs::Note);
  }

  static const Expr *asWritten(const Expr *value) {
    if (const auto *by_default = dyn_cast<CXXDefaultInitExpr>(value))
      value = by_default->getExpr();
    return value->IgnoreUnlessSpelledInSource();
  }

  // Wraps each value that a constructor gives the member. Names have to be unique, so a constructor
  // that sets it twice is left alone, and so is a template, where the method's name needs a `this`.
  void registerAt(DiagnosticBuilder &finding, const CXXRecordDecl *record, const MemberUse &member,
                  llvm::StringRef method) {
    std::size_t constructors =
        llvm::count_if(definitionsOf(record), [](const CXXMethodDecl *method) {
          return isa<CXXConstructorDecl>(method) && !method->isImplicit();
        });
    bool once = member.sites.size() == std::max<std::size_t>(constructors, 1);
    if (!once || record->isDependentContext() || isa<ClassTemplateSpecializationDecl>(record))
      return;
    const SourceManager &sources = model().context().getSourceManager();
    for (const Expr *site : member.sites)
      if (const Expr *written = asWritten(site);
          !editable(written) || isa<InitListExpr>(written) || written->containsErrors() ||
          written->getSourceRange().isInvalid() ||
          spelling(written).find("requires_grad") != std::string::npos)
        return;
    for (const Expr *site : member.sites) {
      const Expr *written = asWritten(site);
      SourceLocation end =
          Lexer::getLocForEndOfToken(written->getEndLoc(), 0, sources, getLangOpts());
      finding << FixItHint::CreateInsertion(
                     written->getBeginLoc(),
                     (method + "(\"" + member.field->getName() + "\", ").str())
              << FixItHint::CreateInsertion(end, ")");
    }
  }

  std::optional<llvm::DenseMap<const CXXRecordDecl *, llvm::SmallVector<const CXXMethodDecl *, 2>>>
      unmatched_;
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(UnregisteredStateCheck, unregistered_state)
