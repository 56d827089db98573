#include "analyzer/check_registry.h"
#include "analyzer/support/device_check.h"

#include <clang/ASTMatchers/ASTMatchFinder.h>

namespace devsan::analyzer {

namespace {

using namespace clang;
using namespace clang::ast_matchers;

// What the methods of a class do to one tensor member.
struct MemberUse {
  const FieldDecl *field = nullptr;
  const Expr *initialised = nullptr; // the factory that made it, or the value, in the constructor
  Place initial;                     // where it was then
  const Expr *combined = nullptr;    // where it first meets another tensor
  bool registered = false;
  bool follows = false; // moved, or made anew on the device of what comes in
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

protected:
  void examine(const FunctionFacts &) override {}

private:
  void examineClass(const CXXRecordDecl *record) {
    std::vector<MemberUse> members;
    for (const FieldDecl *field : record->fields())
      if (holdsTensor(field->getType()) && !isModule(field->getType()) &&
          !field->getType()->isReferenceType())
        members.push_back({field, nullptr, {}, nullptr, false, false});
    if (members.empty())
      return;
    bool constructed = false;
    for (const CXXConstructorDecl *constructor : record->ctors())
      if (const FunctionFacts *facts = bodyFacts(constructor)) {
        constructed = true;
        collectConstruction(*facts, members);
      }
    if (!constructed)
      collectDefaults(members);
    for (const CXXMethodDecl *method : record->methods())
      if (const FunctionFacts *facts =
              isa<CXXConstructorDecl>(method) ? nullptr : bodyFacts(method))
        for (MemberUse &member : members)
          collectUse(*facts, method, member);
    for (const MemberUse &member : members)
      if (member.initialised && !member.registered && !member.follows)
        report(record, member);
  }

  const FunctionFacts *bodyFacts(const FunctionDecl *function) {
    const FunctionDecl *definition = nullptr;
    return function->hasBody(definition) ? model().facts(definition) : nullptr;
  }

  void collectConstruction(const FunctionFacts &facts, std::vector<MemberUse> &members) {
    for (MemberUse &member : members) {
      Path path{nullptr, {member.field}};
      auto last = facts.exit.values.find(path);
      if (last != facts.exit.values.end() && last->second.has(Origin::Kind::kRegistered))
        member.registered = true;
      for (const Operation &operation : facts.operations) {
        if (operation.kind != Operation::Kind::kAssign || operation.path != path)
          continue;
        const Value &value = operation.result;
        // Whatever is registered under this name, or under another and kept here too.
        if (value.has(Origin::Kind::kRegistered))
          member.registered = true;
        if (made(value)) {
          member.initialised = strip(operation.operands.front().expr);
          member.initial = value.place;
        }
      }
    }
  }

  // In-class initialisers of a class without a constructor of its own.
  void collectDefaults(std::vector<MemberUse> &members) {
    for (MemberUse &member : members) {
      const Expr *initializer =
          member.field->hasInClassInitializer() ? member.field->getInClassInitializer() : nullptr;
      const Expr *value = initializer ? factoryIn(initializer) : nullptr;
      if (!value)
        continue;
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
    // A metric's state on the device that its constructor was given is where the user wants it.
    bool module = derivesFromModule(record);
    if ((!module && !member.initial.onHost()) || !firstAt(member.initialised))
      return;
    diag(member.field->getLocation(),
         "tensor member '%0' of %select{metric|module}1 '%2' is %select{made on %4 and stays "
         "there|neither buffer nor parameter, so it does not follow .to()}1: "
         "%select{create it on the device of the first input|make it with register_buffer, or "
         "create it on the device of the first input}1%3")
        << member.field->getName() << module << record->getName() << "" << member.initial.text();
    diag(locationOf(member.initialised), "made on %0 here", DiagnosticIDs::Note)
        << member.initial.text() << member.initialised->getSourceRange();
    if (member.combined)
      diag(locationOf(member.combined), "meets another tensor here", DiagnosticIDs::Note)
          << member.combined->getSourceRange();
  }
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(UnregisteredStateCheck, unregistered_state)
