#include "analyzer/ast/contains.h"
#include "analyzer/check_registry.h"
#include "analyzer/checks/unregistered-state/registration.h"
#include "analyzer/model/device_check.h"
#include "analyzer/model/kept_modules.h"
#include "analyzer/model/member_state.h"
#include "analyzer/model/module_state.h"

#include <clang/ASTMatchers/ASTMatchFinder.h>

namespace devsan::analyzer {

namespace {

using namespace clang;
using namespace clang::ast_matchers;

class UnregisteredStateCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

  // One look per class.
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
    if (!states_)
      states_.emplace(model());
    for (const MemberState &member : states_->of(record))
      if (member.initialised && !member.registered && !member.follows)
        report(record, member);
  }

  void onEndOfTranslationUnit() override {
    states_.reset();
    DeviceCheck::onEndOfTranslationUnit();
  }

protected:
  void examine(const FunctionFacts &) override {}

private:
  void report(const CXXRecordDecl *record, const MemberState &member) {
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

  ModuleState stateOf(const CXXRecordDecl *record, const MemberState &member) {
    if (member.several)
      return moduleStateOf(member.field->getType());
    ModuleState state = moduleStateOf(member.initialised);
    const auto puts = [&](const Stmt *part) {
      const auto *call = dyn_cast<CallExpr>(part);
      return call && isRegistration(nameOf(calleeOf(call))) && receiverOf(call) &&
             names(receiverOf(call), member.field);
    };
    for (const CXXMethodDecl *method : states_->definitionsOf(record))
      if (contains(method->getBody(), puts))
        state.tensors = true;
    return state;
  }

  void reportSubmodule(const CXXRecordDecl *record, const MemberState &member) {
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

  // A registered member has a key in checkpoints, which those saved before lack, so this is a fix
  // to choose.
  void offerRegistration(const CXXRecordDecl *record, const MemberState &member,
                         llvm::StringRef method) {
    const llvm::SmallVector<FixItHint, 4> fixes =
        registration(record, member, method, states_->definitionsOf(record), model().context());
    if (fixes.empty())
      return;
    auto choice = diag(locationOf(member.initialised),
                       "registered, it has a key in checkpoints: those saved before lack it, and "
                       "loading them fails",
                       DiagnosticIDs::Note);
    for (const FixItHint &fix : fixes)
      choice << fix;
  }

  std::optional<MemberStates> states_;
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(UnregisteredStateCheck, unregistered_state)
