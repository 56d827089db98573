// What rules ask beyond the facts of a function or class: about the file, about where code runs,
// how it is spelled, and for the edits of a fix. The model answers from clang's tree when it is
// asked (analyzer/answers/); a test answers from a table. What is not known has the answer that
// keeps a rule silent.
#pragma once

#include "analyzer/facts/class_facts.h"
#include "analyzer/facts/cuda_facts.h"
#include "analyzer/facts/finding.h"
#include "analyzer/facts/function_facts.h"

namespace devsan::analyzer {

enum class Role { kLocal, kParameter, kLambdaParameter, kMember, kOther };
enum class Type {
  kOther,
  kTensor,
  kTensors,   // a list or another container of a library's
  kStructure, // something of the program's with tensors in it
  kModule,
  kData, // anything that a saved module is given or gives
  kDevice,
  kDeviceType,
  kMaybeDevice, // an optional one
  kOptions,
};

// Host code follows a pointer into a tensor's memory.
struct HostRead {
  Code pointer; // x.data_ptr(), x.accessor()
  Code tensor;
  Code access; // the first that follows the pointer
};

// What was given for a parameter.
enum class Argument { kNoParameter, kLeftOut, kFalse, kTrue, kUnknown };

// How a call may be told the device: by an argument behind the last one, by another, not at all.
enum class DeviceParameter { kNone, kSomewhere, kNext };

// What becomes of a value that the host reads, in each turn of the loop.
enum class HostUse {
  kOther,    // it decides something, goes to who knows where, is kept for others
  kGathered, // with those of other turns
  kSeldom,   // every so many turns
  kShown,
  kTensors, // they are computed with it
};

class Program {
public:
  virtual ~Program();

  // For messages: "x", "batch.data", "*this"; "the CPU", "cuda:0", "the current cuda device", "the
  // device of 'x'".
  std::string text(const Path &path);
  std::string text(const Place &place);
  virtual std::string name(Variable variable) = 0;
  virtual std::string spelling(Code code) = 0; // on one line, not longer than a message bears
  virtual std::string fullText(Code code) = 0;
  virtual std::string calleeSpelling(Code call) = 0;
  virtual std::string operatorName(Code call) = 0;
  virtual unsigned line(Code code) = 0;
  virtual unsigned line(Variable variable) = 0; // of its declaration

  // Something in the file deals with devices: names one, keeps one, calls their runtime.
  virtual bool knowsDevices() = 0;
  // Nothing does, and main() is here: all that the program has is on the host.
  virtual bool withoutDevices() = 0;
  // Nothing does, and the file reads tensors' memory on the host: a CPU implementation.
  virtual bool hostOnly() = 0;
  // The file moves tensors to devices that only run time tells, and none of them to the host.
  virtual bool followsDevices() = 0;

  // Of a function.
  virtual bool isStep(Function function) = 0;     // forward(), update(), train_step()
  virtual bool isOperator(Function function) = 0; // run whenever a program uses the library
  virtual bool isOfModule(Function function) = 0; // a method of one
  virtual bool isMethod(Function function) = 0;
  virtual bool isConstructor(Function function) = 0; // or a part of one
  // A method that only constructors of its class call, as far as the file shows, and before they
  // move anything.
  virtual bool isCalledByConstructors(Function function) = 0;
  virtual bool isMain(Function function) = 0;
  virtual bool knowsPinnedMemory(Function function) = 0;
  // Runs again only because a caller calls it in a loop.
  virtual bool isLoopBody(Function function) = 0;
  // Why it runs on every step: "in 'forward'". Empty where it does not.
  virtual std::string stepOf(Function function) = 0;
  virtual std::vector<HostRead> hostReads(Function function) = 0;
  virtual unsigned mentions(Function function, Variable variable) = 0;
  virtual std::vector<Variable> parameters(Function function) = 0; // with a name
  virtual std::vector<Variable> members(Function method) = 0;      // of its class
  // The class of a method, if its objects are made of a tensor.
  virtual std::string ownerMadeOfTensor(Function function) = 0;
  // The function asks whether there is anything: `x.defined()`, `p != nullptr`.
  virtual bool isTested(Function function, const Path &path) = 0;
  // `part` goes into a value that is assigned there.
  virtual bool isAssignedFrom(Function function, const Path &path, Code part) = 0;
  // `torch::Tensor &out`, which is set, or handed on to be set, before anything else.
  virtual bool isOutput(Function function, Variable parameter) = 0;

  virtual std::vector<CudaFunction> cudaFunctions() = 0;
  // Of one of those.
  virtual std::string usr(Function function) = 0; // clang's name for it across files
  virtual std::vector<SideUse> sideUses(Function function) = 0;
  virtual std::vector<CopyStep> copySteps(Function function) = 0;
  virtual std::vector<PropertyQuery> propertyQueries(Function function) = 0;
  virtual std::vector<StreamWork> streamWork(Function function) = 0;
  virtual std::vector<DeviceWork> deviceWork(Function function) = 0;
  virtual std::vector<LateGuard> lateGuards(Function function) = 0;
  // The tensor whose memory the call is given; else one of the function's.
  virtual Variable tensorOf(Code call, Function function) = 0;
  // Its tensors were made where it runs: on the device that is current.
  virtual bool fitsCurrentDevice(Code call, Function function) = 0;
  // USR of the called function of another file, which may launch on the memory that it is given.
  virtual std::string launcherElsewhere(Code call, Function function) = 0;
  virtual std::vector<DeviceKind> deviceKinds(Function function) = 0;
  virtual std::vector<ServedStream> bareStreams(Function function) = 0;
  virtual DeviceSets deviceSets(Function function) = 0;
  virtual std::vector<StaticState> staticStates() = 0;
  virtual bool isSame(Code one, Code other) = 0; // both read the same
  // Both name one stream, as far as their text and variables tell.
  virtual bool isSameStream(Code one, Code other, Function function) = 0;

  // Of a variable or member; null, which is `*this`, has none of these.
  virtual Role role(Variable variable) = 0;
  virtual Type type(Variable variable) = 0;
  virtual Code initialiser(Variable variable) = 0;

  // Of code that runs in a function.
  virtual std::string everyStep(Code code, Function function) = 0;
  // USRs of the functions of which one has to be a step of another file for it to run on every
  // step: to be registered there as an operator, or called by one. None where nobody can tell.
  virtual std::vector<std::string> possibleSteps(Code code, Function function) = 0;
  // The copy brings the host what a module computed in this step, and nothing is asked of the
  // device in the rest of it.
  virtual bool endsInference(Code copy, Function function) = 0;
  virtual Loop loopAround(Code code) = 0; // the innermost
  virtual bool isIn(Code code, Loop loop) = 0;
  virtual bool isDeclaredIn(Variable variable, Loop loop) = 0;
  // `inner` is in `outer`, or in the same function where that is null, and over before `code`.
  virtual bool isOverBefore(Loop inner, Loop outer, Code code) = 0;
  // The host waited at `earlier`, and before `later` nothing gives the device work.
  virtual bool isDrained(Code earlier, Code later) = 0;
  virtual HostUse hostUse(Code read, Function function) = 0;
  // What the loop around the read does may give the tensor other values.
  virtual bool mayChange(const Path &tensor, Code read) = 0;
  virtual bool areExclusive(Code one, Code other) = 0; // no turn of the loop runs both
  // A backward pass follows in the same turn of the loop.
  virtual bool isBeforeBackward(Code read, Function function) = 0;
  // Of the loop around it: under no condition.
  virtual bool isOnEveryTurn(Code code) = 0;
  virtual bool isUnconditional(Code code) = 0; // runs once, whenever its function does
  virtual bool isInBranch(Code code) = 0;      // of an `if`, a `switch` or a choice
  virtual bool isWithoutGrad(Code code) = 0;   // autograd is off
  virtual bool isSyncAllowed(Code code) = 0;   // the user said that waiting is meant
  virtual bool isBesideClock(Code code) = 0;   // the host waits to measure time
  virtual bool isDiscarded(Code code) = 0;     // the value goes nowhere
  virtual bool isDefaultOfMember(Code code) = 0;
  // The current device is set there, or wherever this file calls the function.
  virtual bool isGuarded(Code code, Function function) = 0;
  // The device is that kind of which a tensor is: `x.is_cuda() ? kCUDA : kCPU`.
  virtual bool isOfAskedKind(Code device, Function function) = 0;

  // Of an expression or call.
  virtual Type type(Code code) = 0;
  virtual bool isPointer(Code code) = 0;
  virtual bool isTemporary(Code code) = 0;  // nobody can use it afterwards
  virtual bool isName(Code code) = 0;       // of a variable or member
  virtual Variable variable(Code code) = 0; // that the code names; null for a member
  virtual bool isKernel(Code launch) = 0;   // launched here, not by a function that is called
  virtual Code receiver(Code call) = 0;
  virtual Code object(Code receiver) = 0;             // without the `->` that reached it
  virtual std::vector<Code> arguments(Code call) = 0; // default ones apart
  virtual Argument argument(Code call, std::string_view parameter) = 0;
  virtual bool givesDevice(Code call) = 0; // by an argument
  virtual DeviceParameter deviceParameter(Code call) = 0;
  virtual std::vector<Variable> devicesIn(Code call) = 0; // variables that its arguments mention
  virtual bool hasZeroSize(Code factory) = 0;             // empty({0}), tensor({})
  virtual bool isConstantData(Code factory) = 0;          // tensor({1.0, 2.0}), tensor({n})
  virtual bool hasVariableIndex(Code element) = 0;        // x[i], x.index({i, 0})
  virtual bool isLibraryModule(Code module) = 0;
  // A tensor is laid over memory that a container or variable holds.
  virtual bool isOverOrdinaryMemory(Code factory) = 0;
  // The variable at the start of a chain of calls: `total` in total.sum().mean().
  virtual std::optional<Path> source(const FunctionFacts &facts, Code code) = 0;
  // The variable of whose tensor `code` is an element or the whole; `is_element` says which.
  virtual std::optional<Path> whole(const FunctionFacts &facts, Code code, bool &is_element) = 0;
  // What other files may tell of the data at `place` that `code` uses.
  virtual std::optional<DataHolder> holder(const FunctionFacts &facts, Code code,
                                           const Place &place) = 0;
  // What a finding about data at `place` that `code` uses takes for granted.
  virtual Needs needsOf(const FunctionFacts &facts, Code code, const Place &place) = 0;

  // What a fix may write at a place of a function: whether a name means the same there, and the
  // expression for the device that a path is on.
  virtual bool sees(Function function, Code at, Variable variable) = 0;
  virtual std::string deviceOf(Function function, Code at, const Path &path) = 0;

  // Of the members of a class.
  virtual ModuleState stateOf(const ClassFacts &facts, const MemberState &member) = 0;

  // Edits by their purpose; none where they cannot be made.
  // The factory makes its tensor on that device; its dtype stays what it is.
  virtual Edits passDevice(Code factory, const std::string &device) = 0;
  virtual Edits copyTo(Code code, const std::string &device) = 0;
  virtual Edits appendArgument(Code call, const std::string &argument) = 0;
  // What the call returns goes into the variable that it was called on.
  virtual Edits assignBack(Code call) = 0;
  // `randn(s).cuda()` becomes `randn(s, x.device())`: no tensor on the host, no copy.
  virtual Edits makeThere(Code move, const std::string &device) = 0;
  // A bare `.cuda()` becomes `.to(device)`; with `replace` also a device type that is spelled.
  virtual Edits nameDevice(Code request, Code spelled, const std::string &device, bool replace) = 0;
  virtual Edits replaceCall(Code call, const std::string &text) = 0;
  virtual Edits useCurrentStream(Code launch, Function function) = 0;
  // In front of everything in the function that asks which device is current.
  virtual Edits guardBefore(Function function, Variable tensor) = 0;
  // A guard sets the device of the tensor whose device is set.
  virtual Edits guardInstead(Code set, Function function) = 0;
  // A query of device 0 asks the current one.
  virtual Edits askCurrentDevice(Code query, Code device) = 0;
  // The own tensor goes back among the gathered ones.
  virtual Edits putOwnBack(Code gather) = 0;
  // Each value that a constructor gives the member goes through that method.
  virtual Edits registerMember(const ClassFacts &facts, const MemberState &member,
                               std::string_view method) = 0;
};

} // namespace devsan::analyzer
