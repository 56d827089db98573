// Facts that are written by hand: a function as a list of what it does, in any language. What a
// rule asks beyond that is said of each piece of code and each name.
#pragma once

#include "analyzer/facts/rule.h"

#include <deque>
#include <map>

namespace devsan::analyzer::testing {

// Code, with what Program tells of it.
struct Piece {
  std::string text;
  unsigned line = 0;
  std::string op = {};
  Type type = Type::kTensor;
  Code receiver = {};
  std::vector<Code> arguments = {};
  std::map<std::string, Argument, std::less<>> given = {}; // by parameter
  std::string step = {};                                   // why it runs on every step
  Loop loop = {};
  std::optional<Path> whole = {}, source = {};
  bool is_element = false;
  bool discarded = false, temporary = false, is_name = false, on_every_turn = false,
       unconditional = false, in_branch = false;
  bool without_grad = false, guarded = false, sync_allowed = false, beside_clock = false;
  bool kernel = false, pointer = false, library_module = false, ordinary_memory = false;
  bool gives_device = false, zero_size = false;
  DeviceParameter device_parameter = DeviceParameter::kNone;
  std::vector<Variable> devices = {};
};

struct Named {
  std::string text;
  Role role = Role::kLocal;
  Type type = Type::kTensor;
  Code initialiser = {};
  unsigned mentions = 0;
};

// A function whose facts are written line by line. Names and code live as long as it does.
class WrittenFunction final : public FunctionFacts {
public:
  WrittenFunction() { function = this; }

  bool is_step = false, is_operator = false, is_of_module = false, is_main = false;
  std::string step = {}; // why all of its code runs on every step
  std::vector<HostRead> host_reads = {};
  std::vector<Variable> parameters = {};
  unsigned line = 1; // of what is written next

  Variable variable(std::string name, Type type = Type::kTensor, Role role = Role::kLocal);
  Variable parameter(std::string name, Type type = Type::kTensor);
  Code code(Piece piece);
  Piece &piece(Code code) { return pieces_[indices_.at(code)]; }
  Named &named(Variable variable) { return *const_cast<Named *>(variable.as<Named>()); }

  // A use of a variable: where that was put, else on the device of itself.
  Operand use(const Path &path, std::string text);
  Operand use(Variable variable);
  // What is done, with the values that it gives.
  Operand move(std::string text, const Operand &data, const Value &target);
  Operand make(std::string text, std::string_view name, const Value &target = {});
  Operand apply(std::string text, std::string_view name, std::vector<Operand> operands,
                Dtype dtype = Dtype::kUnknown);
  Operand call(Operation::Kind kind, std::string text, std::string_view name, Operand receiver,
               std::vector<Operand> operands);
  void gather(std::string text, std::string_view name, Variable outputs, const Operand &input);
  void assign(const Path &path, const Operand &value);
  void returns(std::string text, std::vector<Operand> operands);
  void moveModule(std::string text, const Path &module, const Value &target);
  void replacePart(const Path &module, const Path &part, std::string text);

  Value value(Code expr) const override;
  std::optional<Path> path(Code expr) const override;

private:
  Operand record(Operation operation, const Value &result);

  std::deque<Piece> pieces_;
  std::map<Code, std::size_t> indices_;
  std::deque<Named> names_;
  std::map<Code, Value> values_;
  std::map<Code, Path> paths_;
  std::map<Path, Value> variables_;
};

Value on(const Place &place);
Value onDeviceOf(Variable tensor);

// Answers from what the pieces and names say. Edits are named by what they are asked to do.
class WrittenProgram final : public Program {
public:
  bool knows_devices = true, without_devices = false, host_only = false, follows_devices = false,
       ends_inference = false;
  ModuleState state = {.tensors = true};
  // Of the file.
  std::vector<CudaFunction> functions = {};
  bool fits_current_device = false;
  Variable tensor = {};
  std::string launcher = {};
  std::vector<StreamWork> stream_work = {};
  std::vector<DeviceWork> device_work = {};
  std::vector<LateGuard> late_guards = {};
  std::vector<SideUse> side_uses = {};
  std::vector<CopyStep> copy_steps = {};
  std::vector<PropertyQuery> property_queries = {};
  std::vector<StaticState> static_states = {};
  std::vector<DeviceKind> device_kinds = {};
  std::vector<ServedStream> bare_streams = {};
  DeviceSets device_sets = {};
  std::vector<std::string> possible_steps = {};

  std::string name(Variable variable) override;
  std::string spelling(Code code) override;
  std::string fullText(Code code) override { return spelling(code); }
  std::string calleeSpelling(Code call) override;
  std::string operatorName(Code call) override;
  unsigned line(Code code) override;
  unsigned line(Variable) override { return 0; }
  bool knowsDevices() override { return knows_devices; }
  bool withoutDevices() override { return without_devices; }
  bool hostOnly() override { return host_only; }
  bool followsDevices() override { return follows_devices; }
  bool isStep(Function function) override;
  bool isOperator(Function function) override;
  bool isOfModule(Function function) override;
  bool isMethod(Function function) override { return isOfModule(function); }
  bool isConstructor(Function) override { return false; }
  bool isCalledByConstructors(Function) override { return false; }
  bool isMain(Function function) override;
  bool knowsPinnedMemory(Function) override { return false; }
  bool isLoopBody(Function) override { return false; }
  std::string stepOf(Function function) override;
  std::vector<HostRead> hostReads(Function function) override;
  unsigned mentions(Function, Variable variable) override;
  std::vector<Variable> parameters(Function function) override;
  std::vector<Variable> members(Function) override { return {}; }
  std::string ownerMadeOfTensor(Function) override { return {}; }
  bool isTested(Function, const Path &) override { return false; }
  bool isAssignedFrom(Function, const Path &, Code) override { return false; }
  bool isOutput(Function, Variable) override { return false; }
  std::vector<CudaFunction> cudaFunctions() override { return functions; }
  std::string usr(Function) override { return "usr"; }
  std::vector<StreamWork> streamWork(Function) override { return stream_work; }
  std::vector<DeviceWork> deviceWork(Function) override { return device_work; }
  std::vector<LateGuard> lateGuards(Function) override { return late_guards; }
  Variable tensorOf(Code, Function) override { return tensor; }
  bool fitsCurrentDevice(Code, Function) override { return fits_current_device; }
  std::string launcherElsewhere(Code, Function) override { return launcher; }
  std::vector<SideUse> sideUses(Function) override { return side_uses; }
  std::vector<CopyStep> copySteps(Function) override { return copy_steps; }
  std::vector<PropertyQuery> propertyQueries(Function) override { return property_queries; }
  std::vector<DeviceKind> deviceKinds(Function) override { return device_kinds; }
  std::vector<ServedStream> bareStreams(Function) override { return bare_streams; }
  DeviceSets deviceSets(Function) override { return device_sets; }
  std::vector<StaticState> staticStates() override { return static_states; }
  bool isSame(Code one, Code other) override { return one == other; }
  bool isSameStream(Code one, Code other, Function) override { return one == other; }
  Role role(Variable variable) override;
  Type type(Variable variable) override;
  Code initialiser(Variable variable) override;
  std::string everyStep(Code code, Function function) override;
  std::vector<std::string> possibleSteps(Code, Function) override { return possible_steps; }
  bool endsInference(Code, Function) override { return ends_inference; }
  Loop loopAround(Code code) override;
  bool isIn(Code code, Loop loop) override { return loopAround(code) == loop; }
  bool isDeclaredIn(Variable, Loop) override { return false; }
  bool isOverBefore(Loop, Loop, Code) override { return true; }
  bool isDrained(Code, Code) override { return false; }
  HostUse hostUse(Code, Function) override { return HostUse::kOther; }
  bool isBeforeBackward(Code, Function) override { return false; }
  bool mayChange(const Path &, Code) override { return true; }
  bool areExclusive(Code, Code) override { return false; }
  bool isOnEveryTurn(Code code) override;
  bool isUnconditional(Code code) override;
  bool isInBranch(Code code) override;
  bool isWithoutGrad(Code code) override;
  bool isSyncAllowed(Code code) override;
  bool isBesideClock(Code code) override;
  bool isDiscarded(Code code) override;
  bool isDefaultOfMember(Code) override { return false; }
  bool isGuarded(Code code, Function) override;
  bool isOfAskedKind(Code, Function) override { return false; }
  Type type(Code code) override;
  bool isPointer(Code code) override;
  bool isTemporary(Code code) override;
  bool isName(Code code) override;
  Variable variable(Code code) override;
  bool isKernel(Code launch) override;
  Code receiver(Code call) override;
  Code object(Code receiver) override { return receiver; }
  std::vector<Code> arguments(Code call) override;
  Argument argument(Code call, std::string_view parameter) override;
  bool givesDevice(Code call) override;
  DeviceParameter deviceParameter(Code call) override;
  std::vector<Variable> devicesIn(Code call) override;
  bool hasZeroSize(Code factory) override;
  bool isConstantData(Code) override { return false; }
  bool hasVariableIndex(Code) override { return false; }
  bool isLibraryModule(Code module) override;
  bool isOverOrdinaryMemory(Code factory) override;
  std::optional<Path> source(const FunctionFacts &facts, Code code) override;
  std::optional<Path> whole(const FunctionFacts &facts, Code code, bool &is_element) override;
  Needs needsOf(const FunctionFacts &, Code, const Place &place) override {
    return place.isNamedDevice() ? Needs::kDevice : Needs::kDeviceData;
  }
  std::optional<DataHolder> holder(const FunctionFacts &, Code, const Place &) override {
    return std::nullopt;
  }
  bool sees(Function, Code, Variable) override { return true; }
  std::string deviceOf(Function, Code, const Path &path) override { return text(path) + ".device"; }
  ModuleState stateOf(const ClassFacts &, const MemberState &) override { return state; }
  Edits passDevice(Code, const std::string &device) override { return {{.text = device}}; }
  Edits copyTo(Code, const std::string &device) override { return {{.text = device}}; }
  Edits appendArgument(Code, const std::string &argument) override { return {{.text = argument}}; }
  Edits assignBack(Code call) override { return {{.text = "= " + spelling(call)}}; }
  Edits makeThere(Code, const std::string &device) override { return {{.text = device}}; }
  Edits nameDevice(Code, Code, const std::string &device, bool) override {
    return {{.text = device}};
  }
  Edits replaceCall(Code, const std::string &text) override { return {{.text = text}}; }
  Edits useCurrentStream(Code, Function) override { return {{.text = "current"}}; }
  Edits guardBefore(Function, Variable) override { return {{.text = "guard"}}; }
  Edits guardInstead(Code, Function) override { return {{.text = "guard"}}; }
  Edits askCurrentDevice(Code, Code) override { return {{.text = "current"}}; }
  Edits putOwnBack(Code) override { return {{.text = "own"}}; }
  Edits registerMember(const ClassFacts &, const MemberState &, std::string_view method) override {
    return {{.text = std::string(method)}};
  }
};

} // namespace devsan::analyzer::testing
