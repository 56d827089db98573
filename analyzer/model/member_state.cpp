#include "analyzer/model/member_state.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/clang_compat.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/ast/unresolved_code.h"
#include "analyzer/model/kept_modules.h"

#include <clang/AST/ExprCXX.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

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

// Not what the compiler adds for a member that neither the initialiser list nor the member's own
// declaration sets.
bool written(const FunctionDecl *function, const Expr *value) {
  const auto *constructor = dyn_cast<CXXConstructorDecl>(function);
  return !constructor || isa<CXXDefaultInitExpr>(value) ||
         llvm::none_of(constructor->inits(), [&](const CXXCtorInitializer *init) {
           return init->getInit() == value && !init->isWritten();
         });
}

// A class of a header whose methods another file has, where they may move or register whatever
// there is: that one sees it as a whole.
bool isContinuedElsewhere(const CXXRecordDecl *record) {
  const SourceManager &sources = record->getASTContext().getSourceManager();
  bool lacks = false;
  for (const CXXMethodDecl *method : record->methods()) {
    const FunctionDecl *definition = nullptr;
    if (method->hasBody(definition)) {
      if (definition->isOutOfLine())
        return false;
    } else {
      lacks |= method->isUserProvided() && !method->isConst() && !method->isStatic() &&
               !isPureVirtual(method) && !isa<CXXConstructorDecl, CXXDestructorDecl>(method);
    }
  }
  return lacks && !sources.isInMainFile(sources.getFileLoc(record->getLocation()));
}

// Its constructors are in another file, where they may register whatever there is.
bool isConstructedElsewhere(const CXXRecordDecl *record) {
  return llvm::any_of(record->ctors(), [](const CXXConstructorDecl *constructor) {
    return constructor->isUserProvided() && !constructor->hasBody();
  });
}

// A constructor leaves the members to a function whose body is elsewhere.
bool registersElsewhere(const std::vector<const CXXMethodDecl *> &methods) {
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

// The argument of a registration is the member, or the variable that the member was set from.
bool registersValueOf(const Expr *argument, const MemberState &member) {
  if (names(argument, declOf(member.field)))
    return true;
  return llvm::any_of(member.sites, [&](Code site) {
    const auto *variable = dyn_cast<DeclRefExpr>(strip(exprOf(site)));
    return variable && names(argument, variable->getDecl());
  });
}

// A container that nothing is put into, or into which go modules that are registered as well.
bool holdsNothingOwn(const CXXMethodDecl *method, const MemberState &member) {
  return !contains(method->getBody(), [&](const Stmt *part) {
    const auto *put = dyn_cast<CallExpr>(part);
    const Expr *object = receiverOf(put);
    if (!object || !isRegistration(nameOf(calleeOf(put))) || !names(object, declOf(member.field)))
      return false;
    const auto isRegistered = [&](const ValueDecl *variable) {
      return contains(method->getBody(), [&](const Stmt *other) {
        const auto *call = dyn_cast<CallExpr>(other);
        return call && isModuleRegistration(nameOf(calleeOf(call))) &&
               llvm::any_of(call->arguments(),
                            [&](const Expr *argument) { return names(argument, variable); });
      });
    };
    return !contains(put, [&](const Stmt *inner) {
      const auto *variable = dyn_cast<DeclRefExpr>(inner);
      return variable && isRegistered(variable->getDecl());
    });
  });
}

bool isContainer(const MemberState &member) {
  const CXXRecordDecl *record = moduleClass(declOf(member.field)->getType());
  return record && isModuleContainer(record);
}

// `layers(torch::nn::ModuleList())`
bool startsEmpty(const MemberState &member) {
  return llvm::all_of(member.sites, [](Code site) {
    return !contains(exprOf(site), [](const Stmt *part) {
      const auto *made = dyn_cast<CXXConstructExpr>(part);
      return made && llvm::any_of(argumentsOf(made), [](const Expr *argument) {
               return !isa<CXXConstructExpr, CXXDefaultArgExpr>(strip(argument));
             });
    });
  });
}

// A submodule that any method registers, moves, or hands to code that may do so.
void collectHandedOn(const std::vector<const CXXMethodDecl *> &methods, MemberState &member) {
  // By a method of the program, too: `top(keep(TopLayer(3)))`.
  auto registers = [](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    const auto *callee = dyn_cast_or_null<CXXMethodDecl>(call ? call->getDirectCallee() : nullptr);
    return isModuleRegistration(nameOf(calleeOf(call))) ||
           (callee && !isa<CXXOperatorCallExpr>(call) && !isLibraryDecl(callee) &&
            llvm::any_of(call->arguments(),
                         [](const Expr *argument) { return isModule(argument->getType()); }));
  };
  member.registered |= llvm::any_of(
      member.sites, [&](Code site) { return contains(asWritten(exprOf(site)), registers); });
  auto handsOn = [&](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    const auto *construct = dyn_cast<CXXConstructExpr>(part);
    // What did not parse may well register it.
    if (isa<RecoveryExpr>(part) || (call && !call->getDirectCallee()))
      return names(part, declOf(member.field));
    if (!call && !construct)
      return false;
    llvm::StringRef name = nameOf(calleeOf(cast<Expr>(part)));
    bool unknown = call && (!call->getDirectCallee() || !isLibraryDecl(call->getDirectCallee()));
    const Expr *object = receiverOf(call);
    if (name == "to" && object && names(object, declOf(member.field)))
      return true;
    return llvm::any_of(argumentsOf(cast<Expr>(part)), [&](const Expr *argument) {
      if (isRegistration(name))
        return registersValueOf(argument, member);
      const auto *given = dyn_cast<MemberExpr>(strip(argument));
      return unknown && given && given->getMemberDecl() == declOf(member.field);
    });
  };
  member.registered |= isContainer(member) && startsEmpty(member) &&
                       llvm::all_of(methods, [&](const CXXMethodDecl *method) {
                         return holdsNothingOwn(method, member);
                       });
  for (const CXXMethodDecl *method : methods) {
    member.registered |= contains(method->getBody(), handsOn);
    if (const auto *constructor = dyn_cast<CXXConstructorDecl>(method))
      for (const CXXCtorInitializer *initializer : constructor->inits())
        member.registered |= initializer->getInit() && contains(initializer->getInit(), handsOn);
  }
}

const Expr *factoryIn(const Expr *expr) {
  expr = strip(expr);
  if (isFactory(calleeOf(expr)))
    return expr;
  if (const auto *construct = dyn_cast<CXXConstructExpr>(expr);
      construct && construct->getNumArgs() == 1)
    return factoryIn(construct->getArg(0));
  return nullptr;
}

bool registers(const Stmt *statement) {
  return contains(statement, [](const Stmt *part) {
    const llvm::StringRef name = nameOf(calleeOf(dyn_cast<CallExpr>(part)));
    return name == "register_buffer" || name == "register_parameter";
  });
}

// Made by the constructor: on the host, or on a device that was chosen then. A tensor that the
// constructor was given is its caller's.
bool made(const Value &value) {
  if (value.has(Origin::Kind::kFactory) || value.place.isSpelledDevice())
    return true;
  const ValueDecl *chosen =
      value.place.is(Place::Kind::kOf) ? declOf(value.place.of.root) : nullptr;
  return chosen && namesDevice(chosen->getType());
}

// In-class initialisers of a class without a constructor of its own.
void collectDefaults(std::vector<MemberState> &members) {
  for (MemberState &member : members) {
    const auto *field = cast<FieldDecl>(declOf(member.field));
    const Expr *initializer =
        field->hasInClassInitializer() ? field->getInClassInitializer() : nullptr;
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

bool moves(const FunctionFacts &facts, const Expr *expr) {
  return llvm::any_of(facts.operations, [&](const Operation &operation) {
    return operation.kind == Operation::Kind::kMove &&
           contains(expr, [&](const Stmt *part) { return part == exprOf(operation.expr); });
  });
}

void collectAssignment(const FunctionFacts &facts, const Operation &assignment,
                       const CXXMethodDecl *method, MemberState &member) {
  const Value &value = assignment.result;
  const Expr *expr = exprOf(assignment.operands.front().expr);
  if (value.has(Origin::Kind::kRegistered))
    member.registered = true;
  member.rebound |= !isResetOfConstructor(method);
  // The old value goes into the new one: a running sum, which stays where it is, unless it is
  // moved on the way.
  if (names(expr, declOf(member.field)))
    member.follows |= moves(facts, expr);
  else if (!value.place.onHost() && !value.place.is(Place::Kind::kNone))
    member.follows = true;
  else if (method->getParent() && isResetOfConstructor(method) && made(value) &&
           !member.initialised) {
    member.initialised = strip(expr);
    member.initial = value.place;
  }
}

void collectKeptModules(const std::vector<const CXXMethodDecl *> &methods, MemberState &member) {
  const auto *field = cast<FieldDecl>(declOf(member.field));
  member.initialised = firstModuleMade(methods, field);
  member.registered =
      bool(member.initialised) && llvm::any_of(methods, [&](const CXXMethodDecl *method) {
        return handsOnModules(method, field);
      });
}

// update() brings all that it is given to the host, where the state is.
bool takesOntoHost(DeviceModel &model, const std::vector<const CXXMethodDecl *> &methods) {
  bool takes = false;
  for (const CXXMethodDecl *method : methods) {
    const FunctionFacts *facts = nameOf(method) == "update" ? model.facts(method) : nullptr;
    if (!facts)
      continue;
    for (const ParmVarDecl *parameter : method->parameters()) {
      if (!isTensor(parameter->getType().getNonReferenceType()))
        continue;
      const Path path{parameter, {}};
      takes = llvm::any_of(facts->operations, [&](const Operation &operation) {
        return operation.kind == Operation::Kind::kMove && operation.target.place.onHost() &&
               !operation.operands.empty() && facts->path(operation.operands.front().expr) == path;
      });
      if (!takes)
        return false;
    }
  }
  return takes;
}

} // namespace

ClassFacts MemberStates::factsOf(const CXXRecordDecl *record) {
  return {record, record->getName().str(), derivesFromModule(record), of(record)};
}

std::vector<MemberState> MemberStates::of(const CXXRecordDecl *record) {
  std::vector<MemberState> members;
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
      members.back().is_tensor = isTensor(type);
    }
  }
  if (members.empty())
    return {};
  const std::vector<const CXXMethodDecl *> methods = definitionsOf(record);
  if (registersElsewhere(methods) ||
      (!derivesFromModule(record) && takesOntoHost(model_, methods)) ||
      (isContinuedElsewhere(record) && !unmatched_->contains(record->getCanonicalDecl())))
    return {};
  bool constructed = false;
  for (const CXXMethodDecl *method : methods)
    if (const FunctionFacts *facts =
            isa<CXXConstructorDecl>(method) ? model_.facts(method) : nullptr) {
      constructed = true;
      collectConstruction(*facts, members);
    }
  if (!constructed && !isConstructedElsewhere(record))
    collectDefaults(members);
  for (const CXXMethodDecl *method : methods)
    if (const FunctionFacts *facts =
            isa<CXXConstructorDecl>(method) ? nullptr : model_.facts(method))
      for (MemberState &member : members)
        if (!member.several)
          collectUse(*facts, method, member);
  for (MemberState &member : members) {
    if (member.several)
      collectKeptModules(methods, member);
    else if (member.submodule && member.initialised)
      collectHandedOn(methods, member);
    else if (member.initialised)
      collectUnresolved(methods, member);
  }
  return members;
}

std::vector<const CXXMethodDecl *> MemberStates::definitionsOf(const CXXRecordDecl *record) {
  std::vector<const CXXMethodDecl *> methods;
  for (const CXXMethodDecl *method : record->methods()) {
    const FunctionDecl *definition = nullptr;
    if (method->hasBody(definition))
      methods.push_back(cast<CXXMethodDecl>(definition));
  }
  if (!unmatched_) {
    UnmatchedMethods finder;
    for (Decl *decl : model_.context().getTraversalScope())
      finder.TraverseDecl(decl);
    unmatched_ = std::move(finder.found);
  }
  for (const CXXMethodDecl *method : unmatched_->lookup(record->getCanonicalDecl()))
    methods.push_back(method);
  return methods;
}

void MemberStates::collectConstruction(const FunctionFacts &facts,
                                       std::vector<MemberState> &members) {
  for (MemberState &member : members) {
    if (member.several)
      continue;
    // Of several constructors the first one's place is reported.
    const bool by_earlier = bool(member.initialised);
    Path path{nullptr, {member.field}};
    auto last = facts.exit.values.find(path);
    if (last != facts.exit.values.end() && last->second.has(Origin::Kind::kRegistered))
      member.registered = true;
    for (const Operation &operation : facts.operations) {
      if (operation.kind != Operation::Kind::kAssign || operation.path != path)
        continue;
      const Value &value = operation.result;
      if (member.submodule &&
          !written(functionOf(facts.function), exprOf(operation.operands.front().expr)))
        continue;
      // Whatever is registered under this name, or under another and kept here too.
      if (value.has(Origin::Kind::kRegistered))
        member.registered = true;
      if (member.submodule ? value.has(Origin::Kind::kNewModule) : made(value)) {
        member.sites.push_back(operation.operands.front().expr);
        if (by_earlier)
          continue;
        member.initialised = strip(exprOf(operation.operands.front().expr));
        member.initial = value.place;
      }
    }
  }
}

void MemberStates::collectUse(const FunctionFacts &facts, const CXXMethodDecl *method,
                              MemberState &member) {
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
    const auto is_member = [&](const Operand &operand) { return facts.path(operand.expr) == path; };
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

void MemberStates::collectUnresolved(const std::vector<const CXXMethodDecl *> &methods,
                                     MemberState &member) {
  for (const CXXMethodDecl *method : methods)
    contains(method->getBody(), [&](const Stmt *part) {
      const auto *expr = dyn_cast<Expr>(part);
      if (!expr || !(expr->containsErrors() || expr->isTypeDependent()) ||
          !names(expr, declOf(member.field)))
        return false;
      const auto *assignment = dyn_cast<BinaryOperator>(expr);
      member.follows |= assignment && assignment->isAssignmentOp() &&
                        !isa<CXXConstructorDecl>(method) &&
                        names(assignment->getLHS(), declOf(member.field));
      const llvm::StringRef text = textOf(model_.context(), expr->getSourceRange());
      member.registered |= text.contains("register_buffer") || text.contains("register_parameter");
      return false;
    });
}

} // namespace devsan::analyzer
