// What rules ask, answered from clang's tree and the device model. Shared by the rules of a file,
// as the model is.
#pragma once

#include "analyzer/facts/program.h"
#include "analyzer/model/cuda/device_queries.h"
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
  std::string fullText(Code code) override;
  std::string calleeSpelling(Code call) override;
  std::string operatorName(Code call) override;
  unsigned line(Code code) override {
    return context().getSourceManager().getExpansionLineNumber(locationOf(code));
  }
  unsigned line(Variable variable) override;

  bool knowsDevices() override { return model_->knowsDevices(); }
  bool withoutDevices() override { return model_->programWithoutDevices(); }
  bool hostOnly() override { return model_->hostOnly(); }
  bool followsDevices() override;

  bool isStep(Function function) override { return DeviceModel::isStep(functionOf(function)); }
  bool isOperator(Function function) override { return model_->isOperator(functionOf(function)); }
  bool isOfModule(Function function) override;
  bool isMethod(Function function) override;
  bool isConstructor(Function function) override;
  bool isCalledByConstructors(Function function) override;
  bool isMain(Function function) override { return functionOf(function)->isMain(); }
  bool knowsPinnedMemory(Function function) override;
  bool isLoopBody(Function function) override { return model_->isLoopBody(functionOf(function)); }
  std::string stepOf(Function function) override { return model_->stepOf(functionOf(function)); }
  std::vector<HostRead> hostReads(Function function) override;
  unsigned mentions(Function function, Variable variable) override;
  std::vector<Variable> parameters(Function function) override;
  std::vector<Variable> members(Function method) override;
  std::string ownerMadeOfTensor(Function function) override;
  bool isTested(Function function, const Path &path) override;
  bool isAssignedFrom(Function function, const Path &path, Code part) override;
  bool isOutput(Function function, Variable parameter) override;

  std::vector<CudaFunction> cudaFunctions() override;
  std::string usr(Function function) override;
  std::vector<SideUse> sideUses(Function function) override;
  std::vector<CopyStep> copySteps(Function function) override;
  std::vector<PropertyQuery> propertyQueries(Function function) override;
  std::vector<StreamWork> streamWork(Function function) override;
  std::vector<DeviceWork> deviceWork(Function function) override;
  std::vector<LateGuard> lateGuards(Function function) override;
  Variable tensorOf(Code call, Function function) override {
    return CudaProgram::tensorOf(exprOf(call), work(function));
  }
  bool fitsCurrentDevice(Code call, Function function) override;
  std::string launcherElsewhere(Code call, Function function) override;
  std::vector<DeviceKind> deviceKinds(Function function) override;
  std::vector<ServedStream> bareStreams(Function function) override;
  DeviceSets deviceSets(Function function) override;
  std::vector<StaticState> staticStates() override;
  bool isSame(Code one, Code other) override;
  bool isSameStream(Code one, Code other, Function function) override;

  Role role(Variable variable) override;
  Type type(Variable variable) override;
  Code initialiser(Variable variable) override;

  std::vector<std::string> possibleSteps(Code code, Function function) override;
  std::string everyStep(Code code, Function function) override {
    return model_->everyStep(exprOf(code), functionOf(function));
  }
  bool endsInference(Code copy, Function function) override {
    return model_->endsInference(exprOf(copy), functionOf(function));
  }
  Loop loopAround(Code code) override { return model_->loopAround(exprOf(code)); }
  bool isIn(Code code, Loop loop) override;
  bool isDeclaredIn(Variable variable, Loop loop) override;
  bool isOverBefore(Loop inner, Loop outer, Code code) override;
  bool isDrained(Code earlier, Code later) override;
  HostUse hostUse(Code read, Function function) override;
  bool isBeforeBackward(Code read, Function function) override;
  bool mayChange(const Path &tensor, Code read) override;
  bool areExclusive(Code one, Code other) override;
  bool isOnEveryTurn(Code code) override;
  bool isUnconditional(Code code) override;
  bool isInBranch(Code code) override;
  bool isWithoutGrad(Code code) override { return model_->gradOff(exprOf(code)); }
  bool isSyncAllowed(Code code) override { return model_->syncAllowed(exprOf(code)); }
  bool isBesideClock(Code code) override { return model_->besideClock(exprOf(code)); }
  bool isDiscarded(Code code) override;
  bool isDefaultOfMember(Code code) override;
  bool isGuarded(Code code, Function function) override {
    return model_->guarded(exprOf(code), functionOf(function));
  }
  bool isOfAskedKind(Code device, Function function) override;

  Type type(Code code) override;
  bool isPointer(Code code) override { return exprOf(code)->getType()->isPointerType(); }
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
  bool isConstantData(Code factory) override;
  bool hasVariableIndex(Code element) override;
  bool isLibraryModule(Code module) override;
  bool isOverOrdinaryMemory(Code factory) override;
  std::optional<Path> source(const FunctionFacts &facts, Code code) override;
  std::optional<Path> whole(const FunctionFacts &facts, Code code, bool &is_element) override;
  std::optional<DataHolder> holder(const FunctionFacts &facts, Code code,
                                   const Place &place) override;
  Needs needsOf(const FunctionFacts &facts, Code code, const Place &place) override;

  bool sees(Function function, Code at, Variable variable) override;
  std::string deviceOf(Function function, Code at, const Path &path) override;

  ModuleState stateOf(const ClassFacts &facts, const MemberState &member) override;

  Edits passDevice(Code factory, const std::string &device) override;
  Edits copyTo(Code code, const std::string &device) override;
  Edits appendArgument(Code call, const std::string &argument) override;
  Edits assignBack(Code call) override;
  Edits makeThere(Code move, const std::string &device) override;
  Edits nameDevice(Code request, Code spelled, const std::string &device, bool replace) override;
  Edits replaceCall(Code call, const std::string &text) override;
  Edits useCurrentStream(Code launch, Function function) override;
  Edits guardBefore(Function function, Variable tensor) override;
  Edits guardInstead(Code set, Function function) override;
  Edits askCurrentDevice(Code query, Code device) override;
  Edits putOwnBack(Code gather) override;
  Edits registerMember(const ClassFacts &facts, const MemberState &member,
                       std::string_view method) override;

private:
  CudaProgram &cuda();
  // devsan check looks at the files of a project together, so it can tell whether a finding holds
  // that others have a say in. And it applies a fix that several findings have once.
  static bool isInDevsanCheck();
  bool mayLaunchElsewhere(const CudaWork &work, const WorkCall &call);
  bool servesOnly(const CudaWork &work, const clang::ValueDecl *tensor);
  const CudaWork &work(Function function) { return *cuda().work(functionOf(function)); }

  std::shared_ptr<DeviceModel> model_;
  std::shared_ptr<CudaProgram> cuda_;
  std::optional<DeviceQueries> queries_;
  std::optional<std::vector<CudaFunction>> cuda_functions_;
  llvm::SmallPtrSet<const clang::Stmt *, 8> guarded_; // in front of which a fix sets a guard
  MemberStates members_;
  std::optional<bool> follows_devices_;
};

} // namespace devsan::analyzer
