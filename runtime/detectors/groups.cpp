#include "runtime/detectors/groups.h"
#include "core/finding/rule_table.h"
#include "runtime/resolve/names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace devsan::runtime {
namespace {

using Key = std::tuple<std::string, unsigned, std::string, std::string, std::int8_t, std::int8_t,
                       std::int8_t, std::int8_t, EventKind>;

Key keyOf(const ResolvedEvent &event, Joined joined, const ResolvedStack *cause) {
  core::Location place = (cause ? cause : event.stack)->location();
  // Printing a tensor waits for some of its values and copies others.
  const bool display = event.stack->intent == Intent::kDisplay;
  const auto index = [&](DeviceId device) {
    return joined.devices ? std::int8_t{-1} : device.index;
  };
  return {std::move(place.file),
          place.line,
          std::move(place.function),
          cause ? "" : event.calledOp(),
          event.event.from.type,
          index(event.event.from),
          event.event.to.type,
          index(event.event.to),
          display ? EventKind::kBlock : event.event.kind};
}

// By what a place is told apart: which cause its copies have. Not every origin is noted, and what
// is missing is that of the others.
class Causes {
public:
  Causes(const Recording &recording, const std::function<bool(const ResolvedEvent &)> &chosen) {
    for (const ResolvedEvent &event : recording.events())
      if (const ResolvedStack *cause = causeOf(event); cause && chosen(event))
        known_.try_emplace(keyOf(event, {}, nullptr), cause);
  }

  const ResolvedStack *of(const ResolvedEvent &event) const {
    if (const ResolvedStack *cause = causeOf(event))
      return cause;
    const auto known = known_.find(keyOf(event, {}, nullptr));
    return known == known_.end() ? nullptr : known->second;
  }

private:
  std::map<Key, const ResolvedStack *> known_;
};

// The events of a group by what called, thread and devices.
template <class Caller>
using Calls =
    std::map<std::tuple<Caller, std::uint32_t, std::int8_t, std::int8_t>, std::vector<Occurrences>>;
// Two calls on one line have different stacks.
using CallsByStack = Calls<const ResolvedStack *>;
// In Python, one call has different stacks, too: LibTorch and the interpreter go other ways in the
// first steps than later.
using CallsInPython = Calls<std::pair<std::uint32_t, std::string>>;

// The frames of Python with their instructions; empty where those are not known or the program's
// line is not Python's.
std::string callInPython(const ResolvedStack &stack) {
  if (!stack.innermost_user || !stack.frames[*stack.innermost_user].instruction)
    return {};
  std::string call;
  for (const ResolvedFrame &frame : stack.frames)
    if (frame.interpreted)
      call += frame.frame.location.file + '\n' + frame.function() + '\n' +
              std::to_string(frame.instruction) + '\n';
  return call;
}

template <class Caller> std::vector<Occurrences> each(const Calls<Caller> &calls) {
  std::vector<Occurrences> all;
  for (const auto &[call, parts] : calls)
    all.push_back(together(parts));
  return all;
}

Occurrences callOf(const EventGroup &group, const CallsByStack &calls) {
  const std::vector<Occurrences> all = each(calls);
  // Printing reads in loops of its own, but some of its reads happen once.
  return group.first->stack->intent == Intent::kDisplay
             ? *std::ranges::min_element(all, {}, &Occurrences::count)
             : *std::ranges::max_element(all, {}, &Occurrences::count);
}

constexpr std::uint64_t kLoop = 3; // times

bool isInManySteps(const Occurrences &call, std::uint64_t steps) {
  constexpr std::uint64_t kStepsApart = 10;
  return call.steps * kStepsApart > steps;
}

// Two reads in a run, or a summary every now and then, are no loop, although they repeat; nor is
// what the program does a few times until its first step is done, and in no later one.
bool isLoop(const Occurrences &call, std::uint64_t steps) {
  constexpr std::uint64_t kOfSetUp = 32;
  if (steps > 1 && call.last_step == 0 && call.count <= kOfSetUp)
    return false;
  const bool inside_a_step = call.most_in_step >= kLoop;
  return call.count >= kLoop && (steps < kLoop || inside_a_step || isInManySteps(call, steps));
}

// What one call of an operator does several times, is done on different stacks in one step: only
// the steps tell that the call repeats.
std::uint64_t repeatsInSteps(const CallsInPython &calls, std::uint64_t steps) {
  std::uint64_t most = 0;
  for (const Occurrences &call : each(calls))
    if (steps >= kLoop && call.steps >= kLoop && isInManySteps(call, steps))
      most = std::max<std::uint64_t>(most, call.steps);
  return most;
}

core::Steps stepsOf(const EventGroup &group) {
  const std::uint32_t total = group.first->total_steps;
  if (total == 0)
    return {};
  const bool after_last = group.last_step >= total;
  return {total, group.steps - (after_last ? 1 : 0), group.first_step, group.last_step,
          group.most_in_step};
}

bool isAt(const core::Finding &finding, const core::Location &place) {
  const core::Location &first = finding.locations.front();
  return first.file == place.file && first.line == place.line && first.function == place.function;
}

bool isOfLoader(const ResolvedEvent &event) {
  return !event.has(kInBackward) && event.related &&
         std::ranges::any_of(event.related->frames, [](const ResolvedFrame &frame) {
           return frame.kind == FrameKind::kTorch &&
                  (frame.interpreted
                       ? frame.frame.location.file.find("torch/utils/data/") != std::string::npos
                       : frame.function().starts_with("torch::data::"));
         });
}

bool isTransfer(const ResolvedEvent &event) {
  return event.event.kind == EventKind::kCopy && event.event.from != event.event.to;
}

} // namespace

std::vector<EventGroup> groupByPlace(const Recording &recording,
                                     const std::function<bool(const ResolvedEvent &)> &chosen,
                                     Joined joined) {
  std::vector<EventGroup> groups;
  std::optional<Causes> causes;
  if (joined.causes)
    causes.emplace(recording, chosen);
  std::map<Key, std::size_t> indices;
  std::vector<CallsByStack> calls;
  std::vector<CallsInPython> calls_in_python;
  std::vector<std::vector<Occurrences>> parts;
  for (const ResolvedEvent &event : recording.events()) {
    if (!chosen(event))
      continue;
    auto [entry, added] = indices.try_emplace(
        keyOf(event, joined, causes ? causes->of(event) : nullptr), groups.size());
    if (added) {
      groups.emplace_back().first = &event;
      calls.emplace_back();
      calls_in_python.emplace_back();
      parts.emplace_back();
    }
    EventGroup &group = groups[entry->second];
    parts[entry->second].push_back(event.occurrences);
    group.any_flags |= event.event.flags;
    group.all_flags &= event.event.flags;
    group.events.push_back({event.process, event.tally});
    calls[entry->second]
         [{event.stack, event.event.thread, event.event.from.index, event.event.to.index}]
             .push_back(event.occurrences);
    if (std::string call = callInPython(*event.stack); !call.empty())
      calls_in_python[entry->second][{{event.process, std::move(call)},
                                      event.event.thread,
                                      event.event.from.index,
                                      event.event.to.index}]
          .push_back(event.occurrences);
    group.from.insert(deviceName(event.event.from));
    group.to.insert(deviceName(event.event.to));
    group.operators.insert(event.calledOp());
    group.operands.insert(event.operand);
    core::Location place = event.stack->location();
    group.places.try_emplace({std::move(place.file), place.line, std::move(place.function)},
                             event.stack);
    group.of_loader |= isOfLoader(event);
    group.same_rank &= event.rank == group.first->rank;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    static_cast<Occurrences &>(groups[i]) = together(parts[i]);
    if (const Occurrences call = callOf(groups[i], calls[i]); isLoop(call, recording.steps()))
      groups[i].repeats = call.count;
    else if (groups[i].first->stack->intent != Intent::kDisplay)
      groups[i].repeats = repeatsInSteps(calls_in_python[i], recording.steps());
  }
  return groups;
}

const ResolvedStack *causeOf(const ResolvedEvent &event) {
  const bool is_upload = event.event.kind == EventKind::kCopy && event.event.from.isHost();
  // In a backward, `related` is the forward call.
  return is_upload && !event.has(kInBackward) && event.related && event.related->innermost_user
             ? event.related
             : nullptr;
}

bool happensOnce(const EventGroup &group) {
  const core::Steps steps = stepsOf(group);
  return group.repeats < 2 && steps.total > 0 && (steps.total >= kLoop || steps.seen < steps.total);
}

bool isInPython(const ResolvedEvent &event) {
  const ResolvedFrame *place = event.stack->place();
  return place && place->interpreted;
}

std::string devicesText(const std::set<std::string> &names) {
  std::string text;
  std::size_t left = names.size();
  for (const std::string &name : names) {
    text += (text.empty() ? "" : left == 1 ? " and " : ", ") + name;
    --left;
  }
  return text;
}

core::Finding makeFinding(std::string_view rule, const EventGroup &group) {
  const ResolvedEvent &event = *group.first;
  core::Finding finding;
  finding.rule = rule;
  finding.origin = core::Origin::kRuntime;
  if (const core::Rule *row = core::findRule(rule))
    finding.severity = row->severity;
  finding.count = group.count;
  finding.bytes = group.bytes;
  finding.blocked_ns = group.blocked_ns;
  finding.op = event.calledOp();
  finding.thread = event.event.thread;
  if (group.same_rank)
    finding.rank = event.rank;
  finding.locations.push_back(event.stack->location()); // the stack's
  for (const auto &[key, stack] : group.places) {
    const auto &[file, line, function] = key;
    const core::Location place{file, line, 0, function};
    if (!line || isAt(finding, place))
      continue;
    finding.locations.push_back(place);
    finding.other_stacks.push_back({place, stack->shown()});
  }
  finding.stack = event.stack->shown();
  finding.steps = stepsOf(group);
  finding.events = group.events;
  const ResolvedStack &stack = *event.stack;
  if (stack.backward_start && stack.backward_start != stack.innermost_user)
    finding.related.push_back(
        {stack.frames[*stack.backward_start].frame.location, "the backward was started here"});
  if (event.has(kInBackward) && event.event.kind <= EventKind::kBlock)
    addRelated(finding, event.related, "the forward call of " + event.detail + " is here");
  return finding;
}

void addRelated(core::Finding &finding, const ResolvedStack *stack, std::string message) {
  if (stack && stack->innermost_user)
    finding.related.push_back({stack->location(), std::move(message)});
}

void addCause(core::Finding &finding, const EventGroup &group) {
  const ResolvedStack *cause = causeOf(*group.first);
  if (cause && !isAt(finding, cause->location()))
    addRelated(finding, cause, "made on the host here");
}

std::string inOperator(const ResolvedEvent &event) {
  const std::string &op = event.calledOp();
  std::string text = op.empty() ? "" : " in " + op;
  if (op == "aten::is_nonzero")
    text += " (a tensor as a condition)";
  // In a backward, `detail` names the autograd node.
  if (event.has(kInBackward) && !event.detail.empty())
    text += " (backward: " + event.detail + ")";
  return text;
}

std::string sizeText(const EventGroup &group) {
  return (group.sameSize() ? "" : "up to ") + bytesText(group.largest);
}

bool isImplicitTransfer(const ResolvedEvent &event) {
  return isTransfer(event) && event.stack->intent == Intent::kImplicit &&
         !event.stack->reads_scalar;
}

bool isConstruction(const ResolvedEvent &event) {
  return isTransfer(event) && event.stack->intent == Intent::kConstructed;
}

bool isImplicitWait(const ResolvedEvent &event) {
  return event.stack->intent == Intent::kImplicit || isConstruction(event);
}

} // namespace devsan::runtime
