#include "analyzer/facts/rule.h"
#include "analyzer/facts/text.h"

#include <algorithm>

namespace devsan::analyzer {
namespace {

class BareCuda {
public:
  BareCuda(const FunctionFacts &facts, Program &program) : facts_(facts), program_(program) {}

  Findings judge() {
    if (program_.isMain(facts_.function))
      return {};
    for (const Operation &operation : facts_.operations)
      if ((operation.kind == Operation::Kind::kMove ||
           operation.kind == Operation::Kind::kFactory) &&
          operation.target.place.isSpelledDevice())
        examineRequest(operation);
    // What is spelled where a tensor tells better has been reported as that.
    for (const Operation &operation : facts_.operations)
      examineChoice(operation);
    return std::move(findings_);
  }

private:
  // What in scope tells the device, as text for the message and as an expression for the fix.
  struct Source {
    std::string name;
    std::string device;        // "x.device()", empty where no expression can be offered
    bool is_index = false;     // named is the index of the device, not what is on it
    bool is_device = is_index; // or the device
  };

  void examineRequest(const Operation &request) {
    const Place &target = request.target.place;
    const Code spelled = request.target.origin(Origin::Kind::kDeviceName);
    const bool moves = request.kind == Operation::Kind::kMove;
    const bool indexless = target.is(Place::Kind::kIndexless);
    if (!spelled || (indexless && (program_.isGuarded(request.expr, facts_.function) ||
                                   program_.isGuarded(spelled, facts_.function))))
      return;
    // A module is set up and meets no tensor, so that what is in scope need not be beside it.
    const bool moves_module = moves && request.operands.empty();
    std::optional<Source> source = moves_module ? std::nullopt : sourceFor(request);
    if (!source && indexless)
      source = numberedDevice(target);
    if (!source || isReportedElsewhere(request, spelled))
      return;
    RuleFinding finding{
        .at = spelled,
        .message = fill(source->is_index ? "'{}' {} {}{}, while {} says which one to use{}{}"
                                         : "'{}' {} {}{}, whichever device {} is on{}{}",
                        {program_.spelling(moves_module ? program_.object(request.receiver)
                                           : moves      ? request.receiver
                                                        : request.expr),
                         moves ? "goes to" : "is made on", indexless ? "" : "the fixed device ",
                         program_.text(target), source->name,
                         source->device.empty() ? "" : ": use ", source->device}),
        .op = program_.operatorName(request.expr),
        .from = moves && !moves_module ? request.operands.front().value.place.device() : "",
        .to = target.device(),
        // A branch was taken for this device: without one the program goes another way. And the
        // tensors of a program lie where it puts all of them, unless it has several devices.
        .needs =
            !source->is_device || program_.isInBranch(spelled) || program_.isInBranch(request.expr)
                ? Needs::kOtherDevice
                : Needs::kOtherDeviceOrHost};
    const bool same_line = program_.line(spelled) == program_.line(request.expr);
    const std::string device = source->device.empty() ? "x.device()" : source->device;
    const Edits there =
        moves && !moves_module && request.operands.front().value.has(Origin::Kind::kFactory)
            ? program_.makeThere(request.expr, device)
            : Edits();
    if (!there.empty())
      finding.remedy = "make it there: pass `" + device + "` to the factory";
    else if (!moves)
      finding.remedy = "pass the device: `.device(" + device + ")` on the options";
    else if (!source->device.empty())
      finding.remedy = "name the device: `.to(" + device + ")`";
    else if (source->is_index)
      finding.remedy = "name the device with its index";
    if (!source->device.empty())
      finding.fix = !there.empty() ? there
                                   : program_.nameDevice(request.expr, spelled, device,
                                                         /*replace=*/indexless && same_line);
    if (!same_line)
      finding.related.push_back({.code = request.expr, .message = "used here"});
    findings_.push_back(std::move(finding));
  }

  // A move of a tensor for nothing is device-discarded-move's; `x.is_cuda() ? kCUDA : kCPU` is
  // device-index-lost's.
  bool isReportedElsewhere(const Operation &request, Code spelled) {
    return (request.kind == Operation::Kind::kMove && request.receiver &&
            !request.operands.empty() && !program_.isTemporary(request.receiver) &&
            program_.isDiscarded(request.expr)) ||
           program_.isOfAskedKind(spelled, facts_.function);
  }

  // A device with a number, kept in a variable or given to a module of the class: whoever calls
  // this has no say.
  void examineChoice(const Operation &choice) {
    if (!choice.path || program_.isDefaultOfMember(choice.expr))
      return;
    const bool moves_module = choice.kind == Operation::Kind::kMove && choice.operands.empty() &&
                              !choice.path->root && program_.isMethod(facts_.function);
    const Variable kept = choice.path->last();
    const bool keeps =
        choice.kind == Operation::Kind::kAssign && kept && program_.type(kept) == Type::kDevice;
    const Value &value = moves_module ? choice.target : choice.result;
    const Code spelled = value.origin(Origin::Kind::kDeviceName);
    if (!(moves_module || keeps) || !value.place.is(Place::Kind::kFixed) || !spelled)
      return;
    findings_.push_back(
        {.at = spelled,
         .message = fill("'{}' is {}the fixed device {}, whichever GPU the program is to use",
                         {program_.text(*choice.path), moves_module ? "put on " : "",
                          program_.text(value.place)}),
         .to = value.place.device(),
         .remedy = "take the device as a parameter",
         .needs = Needs::kOtherDevice});
  }

  // Who says which device, other than the data that is being moved.
  std::optional<Source> sourceFor(const Operation &request) {
    std::optional<Path> moving;
    bool was_on_device = false;
    if (request.kind == Operation::Kind::kMove) {
      const Value &value = request.operands.front().value;
      if (value.place.is(Place::Kind::kOf))
        moving = value.place.of;
      // Data that was copied to the host for the purpose has to go back where it came from.
      if (const Code copy = value.origin(Origin::Kind::kHostCopy)) {
        const Operation *move = facts_.find(Operation::Kind::kMove, copy);
        const Place before = move ? move->operands.front().value.place : Place();
        if (before.is(Place::Kind::kOf) && before.of.last())
          return named(before.of, request);
        was_on_device = true;
      }
    }
    std::optional<Source> optional;
    for (const Variable parameter : program_.parameters(facts_.function)) {
      const Path path{parameter, {}};
      if (path == moving || isMovedBare(path))
        continue;
      switch (program_.type(parameter)) {
      case Type::kDevice:
      case Type::kDeviceType:
      case Type::kOptions: {
        Source told = named(path, request);
        told.is_device = true;
        return told;
      }
      case Type::kTensor:
        // What the function makes for its caller is on no device before.
        if (isOnHost(path) || program_.isAssignedFrom(facts_.function, path, request.expr) ||
            program_.isOutput(facts_.function, parameter))
          break;
        if (!program_.isTested(facts_.function, path))
          return named(path, request);
        // It may hold no tensor; another one tells better.
        if (!optional)
          optional = Source{quoted(path), ""};
        break;
      case Type::kModule:
        return Source{"the module '" + program_.name(parameter) + "'", ""};
      case Type::kTensors:
        if (isOnHost(path))
          break;
        return Source{"a tensor in " + quoted(path), ""};
      case Type::kStructure:
        return Source{"a tensor of " + quoted(path), ""};
      case Type::kMaybeDevice:
      case Type::kData:
      case Type::kOther:
        break;
      }
    }
    if (optional)
      return optional;
    if (std::optional<Source> member = memberSource(moving, request))
      return member;
    if (was_on_device)
      return Source{"the tensor that it came from", ""};
    return std::nullopt;
  }

  // The function works on a device of that type whose index it is told.
  std::optional<Source> numberedDevice(const Place &target) {
    for (const Operation &operation : facts_.operations)
      for (const Value *value : {&operation.target, &operation.result}) {
        const Code index = value->origin(Origin::Kind::kDeviceIndex);
        const Code type = value->origin(Origin::Kind::kDeviceName);
        if (index && type && facts_.value(type).place.type == target.type &&
            program_.isUnconditional(index))
          return Source{"'" + program_.spelling(index) + "'", "", /*is_index=*/true};
      }
    return std::nullopt;
  }

  // Parameters and buffers of the module whose method this is; or what the object is made of, if
  // that is a tensor: it is wanted on the device of that.
  std::optional<Source> memberSource(const std::optional<Path> &moving, const Operation &request) {
    if (program_.isConstructor(facts_.function))
      return std::nullopt;
    if (!program_.isOfModule(facts_.function)) {
      const std::string owner = program_.ownerMadeOfTensor(facts_.function);
      if (owner.empty())
        return std::nullopt;
      return Source{"the tensor that '" + owner + "' is made of", ""};
    }
    for (const Variable field : program_.members(facts_.function)) {
      const Path path{nullptr, {field}};
      if (path == moving)
        continue;
      if (program_.type(field) == Type::kTensor)
        return named(path, request);
      if (program_.type(field) == Type::kModule)
        return Source{"the module's part " + quoted(path), ""};
    }
    return std::nullopt;
  }

  Source named(const Path &path, const Operation &request) {
    return {quoted(path), program_.deviceOf(facts_.function, request.expr, path)};
  }
  std::string quoted(const Path &path) { return "'" + program_.text(path) + "'"; }

  // Also taken to the current device as it comes: it does not know better.
  bool isMovedBare(const Path &path) {
    return std::ranges::any_of(facts_.operations, [&](const Operation &operation) {
      return operation.kind == Operation::Kind::kMove && operation.path == path &&
             operation.target.place.isSpelledDevice();
    });
  }

  // Checked to be on the host, or brought there by the function.
  bool isOnHost(const Path &path) {
    const auto found = facts_.exit.values.find(path);
    return found != facts_.exit.values.end() && found->second.place.onHost();
  }

  const FunctionFacts &facts_;
  Program &program_;
  Findings findings_;
};

Findings bareCuda(const FunctionFacts &facts, Program &program) {
  return BareCuda(facts, program).judge();
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(bare_cuda, bareCuda)
