#include "runtime/detectors/detector.h"
#include "runtime/detectors/copies.h"
#include "runtime/detectors/groups.h"
#include "runtime/detectors/remedies.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {
namespace {

bool waits(const ResolvedEvent &event) {
  return event.event.kind == EventKind::kBlock ||
         (event.event.kind == EventKind::kCopy && event.has(kBlocks));
}

// A copy that nobody asked for, or of host values into a new tensor: where copies are not allowed,
// it is reported as a copy.
bool isTransfersFinding(const ResolvedEvent &event) {
  return (isImplicitTransfer(event) || isConstruction(event)) && !event.has(kTransferAllowed);
}

// What is a finding where the program says nothing about waits: not the waits of moving a module,
// loading a file or taking a module up for distributed training, which are no step's work, nor what
// is reported as a round trip or as a copy that was not to block.
bool isUnwanted(const ResolvedEvent &event, const RoundTripLegs &round_trips) {
  if (event.stack->intent == Intent::kBulkMove || isTransfersFinding(event))
    return false;
  return event.event.kind == EventKind::kBlock ||
         (!isPageableAsync(event) && !round_trips.contains(event));
}

bool blocksTheHost(const ResolvedEvent &event, const RoundTripLegs &round_trips) {
  if (!waits(event) || event.has(kWarmup))
    return false;
  const bool implicit = isImplicitWait(event);
  switch (syncLevel(event.event.flags)) {
  case Level::kInherit:
    return isUnwanted(event, round_trips);
  case Level::kAllow:
    return false;
  case Level::kLog:
    return implicit && !isTransfersFinding(event);
  case Level::kDisallow:
    return implicit;
  case Level::kLogExplicit:
    return !isTransfersFinding(event);
  case Level::kDisallowExplicit:
    return true;
  }
  return false;
}

core::Severity severity(const EventGroup &group) {
  if (group.any_flags & kSyncDisallowed)
    return core::Severity::kError;
  const bool judged = syncLevel(group.first->event.flags) != Level::kInherit;
  const ResolvedStack &stack = *group.first->stack;
  const bool matters_in_loops_alone = stack.intent != Intent::kImplicit || happensOnce(group);
  // Times are measured by waiting.
  const bool is_note = stack.measures_time || (matters_in_loops_alone && group.repeats < 2);
  return !judged && is_note ? core::Severity::kNote : core::Severity::kWarning;
}

// A place may copy from either.
const char *hostMemory(const EventGroup &group) {
  return group.all_flags & kPinned   ? "pinned memory"
         : group.any_flags & kPinned ? "pinned and pageable memory"
                                     : "pageable memory";
}

std::string waitMessage(const EventGroup &group) {
  const Event &event = group.first->event;
  std::string text = "the host waited for ";
  if (event.kind == EventKind::kCopy && event.from.isHost())
    text += devicesText(group.to) + " to take " + sizeText(group) + " from " + hostMemory(group);
  else
    text += devicesText(group.from);
  text += inOperator(*group.first);
  if (group.any_flags & kSyncDisallowed)
    text += " where waiting is disallowed";
  text += ", " + timesText(group.count);
  if (group.bytes || group.blocked_ns) {
    text += " (";
    if (group.bytes)
      text +=
          bytesText(group.bytes) + " " + devicesText(group.from) + " → " + devicesText(group.to);
    if (group.blocked_ns)
      text += (group.bytes ? ", " : "") + durationText(group.blocked_ns);
    text += ")";
  }
  return text;
}

std::string uploadRemedy(const EventGroup &group) {
  if (group.all_flags & kPinned)
    return "it is pinned already: add " + nonBlocking(group) +
           ", and leave it as it is until the copy is done";
  return (group.of_loader ? "" : "create it on the device, or ") + uploadWithoutWait(group);
}

} // namespace

std::vector<core::Finding> detectHostSync(const Recording &recording) {
  const RoundTripLegs round_trips(recording);
  std::vector<core::Finding> findings;
  const auto is_wanted = [&](const ResolvedEvent &event) {
    return blocksTheHost(event, round_trips);
  };
  for (const EventGroup &group : groupByPlace(recording, is_wanted, {.devices = true})) {
    core::Finding finding = makeFinding("device-host-sync", group);
    finding.severity = severity(group);
    finding.message = waitMessage(group);
    finding.waits = true;
    const Event &event = group.first->event;
    const bool is_upload = event.kind == EventKind::kCopy && event.from.isHost();
    finding.remedy = is_upload ? uploadRemedy(group) : remedyFor(*group.first);
    if (is_upload) {
      finding.cure = loaderRemedy(group);
      addCause(finding, group);
    }
    finding.from = *group.from.begin(); // of several, whichever thread was first
    if (event.kind == EventKind::kCopy)
      finding.to = *group.to.begin();
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
