// What rules ask, answered from clang's tree and the device model. Shared by the rules of a file,
// as the model is.
#pragma once

#include "analyzer/facts/program.h"
#include "analyzer/model/member_state.h"

namespace devsan::analyzer {

class SourceProgram final : public Program {
public:
  explicit SourceProgram(clang::ASTContext &context);
  static std::shared_ptr<SourceProgram> of(clang::ASTContext &context);

  clang::ASTContext &context() { return model_->context(); }
  DeviceModel &model() { return *model_; }
  MemberStates &members() { return members_; }

  // The place of a finding: the method's name for a chain of calls, so that the line is the one a
  // reader looks for.
  static clang::SourceLocation nameLocation(const clang::Expr *expr);
  // Inside a macro, where the user wrote it.
  clang::SourceLocation locationOf(Code code);

  std::string name(Variable variable) override;
  std::string spelling(Code code) override;
  std::string calleeSpelling(Code call) override;
  std::string operatorName(Code call) override;
  unsigned line(Code code) override;

  bool knowsDevices() override;
  bool withoutDevices() override;
  bool hostOnly() override;
  bool followsDevices() override;

  bool isStep(Function function) override;
  bool isOperator(Function function) override;
  bool isOfModule(Function function) override;
  bool isMethod(Function function) override;
  bool isConstructor(Function function) override;
  bool isMain(Function function) override;
  bool knowsPinnedMemory(Function function) override;
  bool isLoopBody(Function function) override;
  std::string stepOf(Function function) override;
  std::vector<HostRead> hostReads(Function function) override;
  unsigned mentions(Function function, Variable variable) override;
  std::vector<Variable> parameters(Function function) override;
  std::vector<Variable> members(Function method) override;
  std::string ownerMadeOfTensor(Function function) override;
  bool isTested(Function function, const Path &path) override;
  bool isAssignedFrom(Function function, const Path &path, Code part) override;

  Role role(Variable variable) override;
  Type type(Variable variable) override;
  Code initialiser(Variable variable) override;

  std::string everyStep(Code code, Function function) override;
  Loop loopAround(Code code) override;
  bool isIn(Code code, Loop loop) override;
  bool isDeclaredIn(Variable variable, Loop loop) override;
  bool isOverBefore(Loop inner, Loop outer, Code code) override;
  bool isOnEveryTurn(Code code) override;
  bool isWithoutGrad(Code code) override;
  bool isSyncAllowed(Code code) override;
  bool isBesideClock(Code code) override;
  bool isDiscarded(Code code) override;
  bool isDefaultOfMember(Code code) override;
  bool isGuarded(Code code, Function function) override;
  bool isOfAskedKind(Code device, Function function) override;

  Type type(Code code) override;
  bool isPointer(Code code) override;
  bool isTemporary(Code code) override;
  bool isName(Code code) override;
  Variable variable(Code code) override;
  bool isKernel(Code launch) override;
  Code receiver(Code call) override;
  Code object(Code receiver) override;
  std::vector<Code> arguments(Code call) override;
  Argument argument(Code call, std::string_view parameter) override;
  bool givesDevice(Code call) override;
  DeviceParameter deviceParameter(Code call) override;
  std::vector<Variable> devicesIn(Code call) override;
  bool hasZeroSize(Code factory) override;
  bool isLibraryModule(Code module) override;
  bool isOverOrdinaryMemory(Code factory) override;
  std::optional<Path> source(const FunctionFacts &facts, Code code) override;
  std::optional<Path> whole(const FunctionFacts &facts, Code code, bool &is_element) override;
  std::optional<DataHolder> holder(const FunctionFacts &facts, Code code,
                                   const Place &place) override;

  bool sees(Function function, Code at, Variable variable) override;
  std::string deviceOf(Function function, Code at, const Path &path) override;

  ModuleState stateOf(const ClassFacts &facts, const MemberState &member) override;

  Edits passDevice(Code factory, const std::string &device) override;
  Edits copyTo(Code code, const std::string &device) override;
  Edits appendArgument(Code call, const std::string &argument) override;
  Edits assignBack(Code call) override;
  Edits makeThere(Code move, const std::string &device) override;
  Edits nameDevice(Code request, Code spelled, const std::string &device, bool replace) override;
  Edits putOwnBack(Code gather) override;
  Edits registerMember(const ClassFacts &facts, const MemberState &member,
                       std::string_view method) override;

private:
  std::shared_ptr<DeviceModel> model_;
  MemberStates members_;
  std::optional<bool> follows_devices_;
};

} // namespace devsan::analyzer
