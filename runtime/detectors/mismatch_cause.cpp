#include "runtime/detectors/mismatch_cause.h"
#include "runtime/offline/function_name.h"
#include "runtime/offline/names.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace devsan::runtime {
namespace {

using DeviceKey = std::tuple<std::uint32_t, std::int8_t, std::int8_t>;

// The devices to which a module was moved, by process.
std::set<DeviceKey> devicesOfModules(const Recording &recording) {
  std::set<DeviceKey> devices;
  for (const ResolvedEvent &event : recording.events())
    if (event.event.kind == EventKind::kCopy && event.stack->intent == Intent::kBulkMove)
      devices.insert({event.process, event.event.to.type, event.event.to.index});
  return devices;
}

// The classes whose methods are the user's frames of a stack.
std::set<std::string> classesOf(const ResolvedStack &stack) {
  std::set<std::string> classes;
  for (const ResolvedFrame &frame : stack.frames)
    if (frame.kind == FrameKind::kUser)
      if (std::string scope = scopeOf(frame.function()); !scope.empty())
        classes.insert(std::move(scope));
  return classes;
}

// A state is made by one method of a class, mostly its constructor, and used by another after the
// first has returned. A tensor that merely came from a helper, such as a batch, shares no class
// with its use.
bool isStateOfAUser(const ResolvedEvent &event) {
  if (!event.event.from.isHost() || event.has(kLeafParameter) || event.has(kOriginIsMove) ||
      !event.has(kSourceOutlivesCall))
    return false;
  const std::set<std::string> makers = classesOf(*event.related);
  const std::set<std::string> users = classesOf(*event.stack);
  return std::ranges::any_of(makers,
                             [&](const std::string &maker) { return users.contains(maker); });
}

MismatchCause causeOf(const ResolvedEvent &event, const std::set<DeviceKey> &devices_of_modules) {
  if (event.has(kLeafParameter) && !event.event.to.isHost() &&
      devices_of_modules.contains({event.process, event.event.to.type, event.event.to.index}))
    return MismatchCause::kPartNotMoved;
  return isStateOfAUser(event) ? MismatchCause::kStateLeftBehind : MismatchCause::kUnexplained;
}

} // namespace

std::vector<ExplainedMismatch> explainMismatches(const Recording &recording) {
  const std::set<DeviceKey> devices_of_modules = devicesOfModules(recording);
  // Of a refusal's odd operands, the one that explains most.
  struct Choice {
    const ResolvedEvent *event;
    MismatchCause cause;
    std::string operands;
  };
  std::map<std::pair<std::uint32_t, std::uint64_t>, Choice> refusals;
  std::uint64_t ungrouped = 0;
  for (const ResolvedEvent &event : recording.events()) {
    if (event.event.kind != EventKind::kMismatch)
      continue;
    const Choice choice{&event, causeOf(event, devices_of_modules), event.operand};
    const std::uint64_t group = event.event.group ? event.event.group : ~ungrouped++;
    auto [entry, added] = refusals.try_emplace({event.process, group}, choice);
    if (added)
      continue;
    if (choice.cause < entry->second.cause)
      entry->second = choice;
    else if (choice.cause == entry->second.cause)
      entry->second.operands += ", " + event.operand;
  }
  std::unordered_map<const ResolvedEvent *, const Choice *> chosen;
  for (const auto &[key, choice] : refusals)
    chosen.emplace(choice.event, &choice);
  std::vector<ExplainedMismatch> result;
  for (const EventGroup &group :
       groupByPlace(recording, [&](const ResolvedEvent &event) { return chosen.contains(&event); }))
    result.push_back({group, chosen.at(group.first)->cause, chosen.at(group.first)->operands});
  return result;
}

core::Finding makeMismatchFinding(std::string_view rule, const EventGroup &group) {
  const ResolvedEvent &event = *group.first;
  core::Finding finding = makeFinding(rule, group);
  finding.from = deviceName(event.event.from);
  finding.to = deviceName(event.event.to);
  addRelated(finding, event.related,
             event.has(kOriginIsMove) ? "moved to " + finding.from + " here"
                                      : "made on " + finding.from + " here");
  return finding;
}

} // namespace devsan::runtime
