#include "analyzer/facts/rule.h"
#include "analyzer/facts/operators.h"
#include "analyzer/facts/text.h"

#include <algorithm>

namespace devsan::analyzer {
namespace {

class LoadWithoutDevice {
public:
  LoadWithoutDevice(const FunctionFacts &facts, Program &program)
      : facts_(facts), program_(program) {}

  Findings judge() {
    if (!knowsDevice())
      return {};
    const std::set<Code> settled = settledLoads();
    for (const Operation &operation : facts_.operations)
      if (const Code load = usedLoad(operation);
          load && !settled.contains(load) && !program_.givesDevice(load))
        report(load, operation);
    return std::move(findings_);
  }

private:
  static bool puts(const Operation &operation) {
    return operation.kind == Operation::Kind::kMove || operation.kind == Operation::Kind::kFactory;
  }

  // The program puts something on a device here, or on one that only run time tells.
  bool knowsDevice() {
    return std::ranges::any_of(facts_.operations, [&](const Operation &operation) {
      const Place &place = operation.target.place;
      return puts(operation) &&
             (place.isUnknown() ? program_.givesDevice(operation.expr) : place.maybeOffHost());
    });
  }

  // Loads into a part of a moved module, which are device-module-replaced-after-to's, and those
  // that some path moves.
  std::set<Code> settledLoads() {
    std::set<Code> settled = facts_.moved_loads;
    const auto add = [&](Code code) {
      settled.insert(code);
      for (const Origin &origin : facts_.value(code).origins)
        if (origin.kind == Origin::Kind::kLoaded)
          settled.insert(origin.expr);
    };
    for (const ReplacedPart &part : facts_.exit.replaced)
      add(part.expr);
    for (const Code code : facts_.moved_later)
      add(code);
    for (const Operation &operation : facts_.operations)
      if (operation.kind == Operation::Kind::kMove && operation.receiver)
        add(operation.receiver);
    return settled;
  }

  Code usedLoad(const Operation &operation) {
    switch (operation.kind) {
    case Operation::Kind::kModule:
      return runsOnHost(operation) ? nullptr
                                   : facts_.value(operation.receiver).origin(Origin::Kind::kLoaded);
    case Operation::Kind::kTensorOp:
      return acceptsHostOperand(operation.name) ? nullptr : loadMeetingDevice(operation);
    case Operation::Kind::kReturn:
      // An object of another class that was given what was loaded may have moved it.
      return holdsData(program_.type(operation.expr))
                 ? operation.result.origin(Origin::Kind::kLoaded)
                 : nullptr;
    case Operation::Kind::kMove:
    case Operation::Kind::kFactory:
    case Operation::Kind::kGather:
    case Operation::Kind::kCall:
    case Operation::Kind::kAssign:
    case Operation::Kind::kLaunch:
    case Operation::Kind::kWait:
      return nullptr;
    }
    return nullptr;
  }

  static bool holdsData(Type type) {
    return type == Type::kTensor || type == Type::kTensors || type == Type::kModule ||
           type == Type::kData;
  }

  bool runsOnHost(const Operation &call) {
    const std::vector<Code> arguments = program_.arguments(call.expr);
    return !arguments.empty() && std::ranges::all_of(arguments, [&](Code argument) {
      return facts_.value(argument).place.onHost();
    });
  }

  // Loaded tensors may be worked on among themselves, and moved afterwards.
  static Code loadMeetingDevice(const Operation &operation) {
    Code load;
    bool meets = false;
    for (const Operand &operand : operation.operands)
      if (const Code loaded = operand.value.origin(Origin::Kind::kLoaded))
        load = loaded;
      else
        meets |= operand.value.place.maybeOffHost();
    return meets ? load : nullptr;
  }

  void report(Code load, const Operation &use) {
    const bool returned = use.kind == Operation::Kind::kReturn;
    const DeviceParameter parameter = program_.deviceParameter(load);
    const bool appends = parameter == DeviceParameter::kNext;
    const std::optional<Variable> device = deviceFor(load);
    const std::string text = program_.spelling(load);
    const std::string name = device ? program_.name(*device) : "device";
    std::string remedy = "call .to(" + name + ") on it";
    // A long call is cut short in messages, and has no end to write the device before.
    if (appends && device && text.back() == ')')
      remedy =
          "pass the device, '" + text.substr(0, text.size() - 1) + ", " + name + ")', or " + remedy;
    else if (parameter != DeviceParameter::kNone)
      remedy = "pass the device to " + program_.calleeSpelling(load) + "(), or " + remedy;
    RuleFinding finding{.at = load,
                        .message = fill("what '{}' reads keeps the device it was saved from and {} "
                                        "without being moved: {}",
                                        {text, returned ? "is returned" : "is used", remedy}),
                        .needs = Needs::kForeignFile};
    if (use.kind == Operation::Kind::kTensorOp) {
      finding.op = program_.operatorName(use.expr);
      finding.to = placeMet(use).device();
    }
    if (appends && device)
      finding.fix = program_.appendArgument(load, name);
    if (program_.line(use.expr) != program_.line(load))
      finding.related.push_back(
          {.code = use.expr, .message = returned ? "it is returned here" : "it is used here"});
    findings_.push_back(std::move(finding));
  }

  // Of the others that a loaded tensor is used with.
  static Place placeMet(const Operation &use) {
    for (const Operand &operand : use.operands)
      if (!operand.value.has(Origin::Kind::kLoaded) && operand.value.place.maybeOffHost())
        return operand.value.place;
    return Place::unknown();
  }

  // The only variable that says where things go in this function, if the load can see it.
  std::optional<Variable> deviceFor(Code load) {
    std::set<Variable> devices;
    for (const Operation &operation : facts_.operations)
      if (puts(operation))
        for (const Variable device : program_.devicesIn(operation.expr))
          devices.insert(device);
    if (devices.size() != 1 || !program_.sees(facts_.function, load, *devices.begin()))
      return std::nullopt;
    return *devices.begin();
  }

  const FunctionFacts &facts_;
  Program &program_;
  Findings findings_;
};

Findings loadWithoutDevice(const FunctionFacts &facts, Program &program) {
  return LoadWithoutDevice(facts, program).judge();
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(load_without_device, loadWithoutDevice)
