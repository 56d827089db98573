#include "analyzer/facts/rule.h"
#include "analyzer/facts/text.h"

namespace devsan::analyzer {
namespace {

class UnregisteredState {
public:
  UnregisteredState(const ClassFacts &facts, Program &program) : facts_(facts), program_(program) {}

  Findings judge() {
    for (const MemberState &member : facts_.members)
      if (member.initialised && !member.registered && !member.follows)
        member.submodule ? judgeSubmodule(member) : judgeTensor(member);
    return std::move(findings_);
  }

private:
  void judgeTensor(const MemberState &member) {
    // A metric's state on the device that its constructor was given is where the user wants it. Nor
    // is one that only ever meets tensors of the host.
    const bool belongs_there = member.read_on_host && !member.meets_others;
    if (!facts_.is_module && (!member.initial.onHost() || belongs_there))
      return;
    RuleFinding finding{
        .at = member.initialised,
        .message = fill(
            "tensor member '{}' of {} '{}' is {}",
            {program_.name(member.field), facts_.is_module ? "module" : "metric", facts_.name,
             facts_.is_module ? "neither buffer nor parameter, so it does not follow .to()"
                              : "made on " + program_.text(member.initial) + " and stays there"}),
        .op = member.combined ? program_.operatorName(member.combined) : "",
        .from = member.initial.device(),
        .related = {{.variable = member.field, .message = "declared here"}},
        .needs = Needs::kDevice,
        // A program has all else there, too.
        .is_for_libraries = facts_.is_module && isOnOwnDevice(member.initial)};
    // Where a method puts another tensor there, the one that is registered is of no use to it.
    if (facts_.is_module && member.is_tensor && !member.rebound)
      offerRegistration(finding, member, "register_buffer");
    if (!facts_.is_module)
      finding.remedy = "create it on the device of the first input";
    if (member.combined)
      finding.related.push_back({.code = member.combined, .message = "meets another tensor here"});
    findings_.push_back(std::move(finding));
  }

  // On a device that the program itself names, not one that the module is given.
  bool isOnOwnDevice(const Place &place) {
    return place.isNamedDevice() &&
           !(place.of.root && program_.role(place.of.root) == Role::kParameter);
  }

  void judgeSubmodule(const MemberState &member) {
    const ModuleState state = program_.stateOf(facts_, member);
    if (state.isEmpty())
      return;
    const bool several = member.several;
    const std::string lost =
        !state.tensors ? std::string("train() and eval() do not reach ") + (several ? "them" : "it")
        : several      ? "they do not follow .to(), and their parameters are not among the module's"
                       : "it does not follow .to(), and its parameters are not among the module's";
    RuleFinding finding{
        .at = member.initialised,
        .message = fill("{} '{}' of module '{}' {} not registered, so {}",
                        {several ? "the modules in" : "submodule", program_.name(member.field),
                         facts_.name, several ? "are" : "is", lost}),
        .remedy = several ? "give each to `register_module`, or keep them in a `ModuleList`"
                          : "make it with `register_module`",
        .related = {{.variable = member.field, .message = "declared here"}}};
    if (!several)
      offerRegistration(finding, member, "register_module");
    findings_.push_back(std::move(finding));
  }

  // A registered member has a key in checkpoints, which those saved before lack, so this is a fix
  // to choose.
  void offerRegistration(RuleFinding &finding, const MemberState &member, std::string_view method) {
    finding.fix = program_.registerMember(facts_, member, method);
    if (!finding.fix.empty())
      finding.caution = "registered, it has a key in checkpoints: those saved before lack it, and "
                        "loading them fails";
  }

  const ClassFacts &facts_;
  Program &program_;
  Findings findings_;
};

Findings unregisteredState(const ClassFacts &facts, Program &program) {
  return UnregisteredState(facts, program).judge();
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(unregistered_state, unregisteredState)
