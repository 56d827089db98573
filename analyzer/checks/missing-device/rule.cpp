#include "analyzer/facts/rule.h"
#include "analyzer/facts/operators.h"
#include "analyzer/facts/text.h"

namespace devsan::analyzer {
namespace {

class MissingDevice {
public:
  MissingDevice(const FunctionFacts &facts, Program &program) : facts_(facts), program_(program) {}

  Findings judge() {
    if (program_.withoutDevices())
      return {};
    for (const HostRead &read : program_.hostReads(facts_.function))
      if (const Place place = facts_.value(read.tensor).place; isOfTensor(place))
        read_here_.insert(place.of);
    for (const Operation &operation : facts_.operations)
      examine(operation);
    return std::move(findings_);
  }

private:
  void examine(const Operation &operation) {
    switch (operation.kind) {
    case Operation::Kind::kTensorOp:
      if (takesIndices(operation.name))
        return examineIndexing(operation);
      if (!acceptsHostOperand(operation.name))
        for (const std::vector<Operand> *operands : turns(operation))
          meet(operation, *operands);
      return;
    case Operation::Kind::kModule:
      return examineModule(operation);
    case Operation::Kind::kReturn:
      return examineReturn(operation);
    case Operation::Kind::kCall:
      return examineCall(operation);
    case Operation::Kind::kLaunch:
      return examineLaunch(operation);
    case Operation::Kind::kMove:
    case Operation::Kind::kFactory:
    case Operation::Kind::kGather:
    case Operation::Kind::kAssign:
    case Operation::Kind::kWait:
      return;
    }
  }

  static Code factoryOf(const Value &value) {
    return value.place.is(Place::Kind::kDefaultHost) && !value.zero_dim
               ? value.origin(Origin::Kind::kFactory)
               : nullptr;
  }

  // The operands, and those of the first turn of a loop; that may be left out under a condition.
  std::vector<const std::vector<Operand> *> turns(const Operation &operation) {
    std::vector<const std::vector<Operand> *> all{&operation.operands};
    if (!operation.first_turn.empty() && program_.isOnEveryTurn(operation.expr))
      all.push_back(&operation.first_turn);
    return all;
  }

  void meet(const Operation &operation, const std::vector<Operand> &operands) {
    const Operand *device = deviceOperand(operands);
    if (!device)
      return;
    for (const Operand &operand : operands)
      if (const Code factory = factoryOf(operand.value))
        report(factory, *device, operation, "meets");
  }

  static bool takesIndices(std::string_view name) {
    return name == "index" || name == "operator[]" || name == "index_put" || name == "index_put_" ||
           name == "_index_put_impl_";
  }

  // ATen moves indices, but not what they index, nor the values that are put there.
  void examineIndexing(const Operation &operation) {
    const Operand *device = deviceOperand(operation.operands);
    if (!device)
      return;
    std::set<Code> indexed;
    if (operation.receiver)
      indexed.insert(operation.operands.front().expr);
    if (!operation.receiver || operation.name != "operator[]")
      for (const Code argument : program_.arguments(operation.expr))
        if (program_.type(argument) == Type::kTensor)
          indexed.insert(argument);
    for (const Operand &operand : operation.operands)
      if (const Code factory = factoryOf(operand.value); factory && indexed.contains(operand.expr))
        report(factory, *device, operation, "meets");
  }

  // A module of LibTorch's own computes where its parameters are. One of the program's may move
  // what it is given.
  void examineModule(const Operation &call) {
    if (!program_.isLibraryModule(call.receiver) || program_.isConstructor(facts_.function))
      return;
    const Operand module{program_.object(call.receiver), facts_.value(call.receiver)};
    for (const std::vector<Operand> *operands : turns(call)) {
      meet(call, *operands);
      if (!wasMoved(module.value.place))
        continue;
      for (const Operand &operand : *operands)
        if (const Code factory = factoryOf(operand.value))
          report(factory, module, call, "meets");
    }
  }

  // To a device, here or together with the module that this is a method of.
  bool wasMoved(const Place &place) {
    if (!place.is(Place::Kind::kOf))
      return place.isSpelledDevice();
    if (!place.of.root)
      return program_.isOfModule(facts_.function);
    const Type type = program_.type(place.of.last());
    return type == Type::kDevice || type == Type::kDeviceType || type == Type::kMaybeDevice ||
           type == Type::kOptions || type == Type::kTensor;
  }

  // Handed beside the inputs of an operator to the code that does its work. Numbers that were made
  // of host data are often wanted on the host there, and so is all in a file for the host.
  void examineCall(const Operation &call) {
    const Operand *device = deviceOperand(call.operands);
    if (!device || program_.hostOnly())
      return;
    for (const Operand &operand : call.operands) {
      const Code factory = factoryOf(operand.value);
      if (factory && !operand.value.has(Origin::Kind::kHostScalar) && isOfAnyDtype(factory) &&
          !program_.stepOf(facts_.function).empty())
        report(factory, *device, call, "is handed on beside");
    }
  }

  // The kernel would follow a pointer into the host's memory; ATen has no say there. A function
  // that launches may want some on the host: sizes, offsets, what was made of host data.
  void examineLaunch(const Operation &launch) {
    const Operand *device = deviceOperand(launch.operands);
    const bool direct = program_.isKernel(launch.expr);
    for (const Operand &operand : launch.operands) {
      const Code factory = factoryOf(operand.value);
      // empty({0}), for a kernel's argument that is not there; its pointer is null.
      if (!device || !factory || program_.hasZeroSize(factory))
        continue;
      const bool data = program_.isPointer(operand.expr) &&
                        !operand.value.has(Origin::Kind::kHostScalar) && isOfAnyDtype(factory);
      if (direct || data)
        report(factory, *device, launch, "goes to a kernel beside");
    }
  }

  // Made with the default dtype, or with that of another tensor; not the integers of metadata.
  bool isOfAnyDtype(Code factory) {
    const Operation *made = facts_.find(Operation::Kind::kFactory, factory);
    static const Names kFloats{"zeros", "ones", "empty", "rand", "randn"};
    return made && kFloats.contains(made->name) &&
           (made->target.dtype == Dtype::kFloating || made->target.has(Origin::Kind::kDtypeOf) ||
            made->target == Value());
  }

  const Operand *deviceOperand(const std::vector<Operand> &operands) {
    for (const Operand &operand : operands)
      if (const Place &place = operand.value.place; place.maybeOffHost() && !isReadHere(place) &&
                                                    !operand.value.has(Origin::Kind::kFactory) &&
                                                    followsDevice(place))
        return &operand;
    return nullptr;
  }

  // Whoever follows a pointer into a tensor's memory has it on the host.
  bool isReadHere(const Place &place) const {
    return place.is(Place::Kind::kOf) && read_here_.contains(place.of);
  }

  // A module's tensors go where the module goes; members of other classes may well be kept on the
  // host.
  bool followsDevice(const Place &place) {
    const bool member = place.is(Place::Kind::kOf) && !place.of.root;
    return !member || program_.isOfModule(facts_.function);
  }

  void examineReturn(const Operation &result) {
    const Operand *device = deviceOperand(result.operands);
    for (const Operand &operand : result.operands) {
      const Code factory = factoryOf(operand.value);
      if (!factory)
        continue;
      // A dtype taken from a tensor whose device was left out.
      const Operation *made = facts_.find(Operation::Kind::kFactory, factory);
      const Code dtype_of = made ? made->target.origin(Origin::Kind::kDtypeOf) : nullptr;
      if (const Code tensor = dtype_of ? program_.receiver(dtype_of) : nullptr) {
        if (const Value value = facts_.value(tensor); value.place.maybeOffHost())
          report(factory, {tensor, value}, result, "is returned without the device of");
        continue;
      }
      // Counts and offsets made from host values are often wanted on the host.
      const bool host_data =
          operand.value.has(Origin::Kind::kHostScalar) || operand.value.dtype == Dtype::kIntegral;
      if (device && !host_data)
        report(factory, *device, result, "is returned beside");
    }
  }

  void report(Code factory, const Operand &other, const Operation &use, std::string_view how) {
    const Place &place = other.value.place;
    const std::string device =
        isOfTensor(place) ? program_.deviceOf(facts_.function, factory, place.of) : "";
    // `p->a` is on the device of 'p.a', which says nothing new.
    const bool is_itself = place.is(Place::Kind::kOf) && facts_.path(other.expr) == place.of &&
                           program_.isName(other.expr);
    const Operation *made = facts_.find(Operation::Kind::kFactory, factory);
    // Host memory that a tensor wraps is no device's: it is copied.
    const bool wraps = made && made->name == "from_blob";
    RuleFinding finding{
        .at = factory,
        .message = fill("'{}' makes a tensor on the CPU that {} '{}'{}: {}{}",
                        {program_.spelling(factory), how, program_.spelling(other.expr),
                         is_itself ? "" : ", which is on " + program_.text(place),
                         wraps ? "move it to the device" : "pass the device",
                         device.empty() ? "" : " (" + device + ")"}),
        .op = use.kind == Operation::Kind::kReturn ? "" : program_.operatorName(use.expr),
        .from = Place::host().device(),
        .to = place.device(),
        // A module that is being made is on the CPU still.
        .needs = program_.isCalledByConstructors(facts_.function)
                     ? Needs::kOtherCaller
                     : program_.needsOf(facts_, use.expr, place),
        .holder = program_.holder(facts_, use.expr, place)};
    if (!device.empty()) {
      finding.fix = wraps ? program_.copyTo(factory, device) : program_.passDevice(factory, device);
      finding.remedy = wraps ? "copy it there: `.to(" + device + ")`"
                             : "pass the device: `.device(" + device + ")` on the options";
    }
    if (program_.line(use.expr) != program_.line(factory))
      finding.related.push_back({.code = use.expr, .message = "here they come together"});
    findings_.push_back(std::move(finding));
  }

  bool isOfTensor(const Place &place) {
    return place.is(Place::Kind::kOf) && place.of.last() &&
           program_.type(place.of.last()) == Type::kTensor;
  }

  const FunctionFacts &facts_;
  Program &program_;
  std::set<Path> read_here_; // tensors whose memory the function reads on the host
  Findings findings_;
};

Findings missingDevice(const FunctionFacts &facts, Program &program) {
  return MissingDevice(facts, program).judge();
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(missing_device, missingDevice)
