#include "analyzer/ast/contains.h"
#include "analyzer/ast/operator_name.h"
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
    Diagnosis finding{
        .place = locationOf(member.initialised),
        .message =
            llvm::formatv("tensor member '{0}' of {1} '{2}' is {3}", member.field->getName(),
                          module ? "module" : "metric", record->getName(),
                          module ? "neither buffer nor parameter, so it does not follow .to()"
                                 : "made on " + member.initial.text() + " and stays there")
                .str(),
        .range = member.initialised->getSourceRange(),
        .op = member.combined ? operatorName(member.combined) : "",
        .from = member.initial.device(),
        .related = {{member.field->getLocation(), "declared here"}}};
    // Where a method puts another tensor there, the one that is registered is of no use to it.
    if (module && isTensor(member.field->getType()) && !member.rebound)
      offerRegistration(finding, record, member, "register_buffer");
    if (!module)
      finding.remedy = "create it on the device of the first input";
    if (member.combined)
      finding.related.push_back({locationOf(member.combined), "meets another tensor here",
                                 member.combined->getSourceRange()});
    diagnose(std::move(finding));
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
    const bool several = member.several;
    const std::string lost =
        !state.tensors ? std::string("train() and eval() do not reach ") + (several ? "them" : "it")
        : several      ? "they do not follow .to(), and their parameters are not among the module's"
                       : "it does not follow .to(), and its parameters are not among the module's";
    Diagnosis finding{
        .place = locationOf(member.initialised),
        .message = llvm::formatv("{0} '{1}' of module '{2}' {3} not registered, so {4}",
                                 several ? "the modules in" : "submodule", member.field->getName(),
                                 record->getName(), several ? "are" : "is", lost)
                       .str(),
        .range = member.initialised->getSourceRange(),
        .remedy = several ? "give each to `register_module`, or keep them in a `ModuleList`"
                          : "make it with `register_module`",
        .related = {{member.field->getLocation(), "declared here"}}};
    if (!several)
      offerRegistration(finding, record, member, "register_module");
    diagnose(std::move(finding));
  }

  // A registered member has a key in checkpoints, which those saved before lack, so this is a fix
  // to choose.
  void offerRegistration(Diagnosis &finding, const CXXRecordDecl *record, const MemberState &member,
                         llvm::StringRef method) {
    finding.fix =
        registration(record, member, method, states_->definitionsOf(record), model().context());
    if (!finding.fix.empty())
      finding.caution = "registered, it has a key in checkpoints: those saved before lack it, and "
                        "loading them fails";
  }

  std::optional<MemberStates> states_;
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(UnregisteredStateCheck, unregistered_state)
