#include "runtime/detectors/detector.h"
#include "runtime/detectors/copies.h"
#include "runtime/detectors/groups.h"
#include "runtime/offline/names.h"

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
  if (group.any_flags & kSyncForbidden)
    return core::Severity::kError;
  const bool judged = syncLevel(group.first->event.flags) != Level::kInherit;
  const bool spelled_out = group.first->stack->intent != Intent::kImplicit;
  return !judged && spelled_out && group.repeats < 2 ? core::Severity::kNote
                                                     : core::Severity::kWarning;
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
    text += deviceName(event.to) + " to take " + sizeText(group) + " from " + hostMemory(group);
  else
    text += deviceName(event.from);
  text += inOperator(*group.first);
  if (group.any_flags & kSyncForbidden)
    text += " where waiting is disallowed";
  text += ", " + timesText(group.count);
  if (group.bytes || group.blocked_ns) {
    text += " (";
    if (group.bytes)
      text += bytesText(group.bytes) + " " + deviceName(event.from) + " → " + deviceName(event.to);
    if (group.blocked_ns)
      text += (group.bytes ? ", " : "") + durationText(group.blocked_ns);
    text += ")";
  }
  return text;
}

} // namespace

std::vector<core::Finding> detectHostSync(const Recording &recording) {
  const RoundTripLegs round_trips(recording);
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [&](const ResolvedEvent &event) {
         return blocksTheHost(event, round_trips);
       })) {
    core::Finding finding = makeFinding("device-host-sync", group);
    finding.severity = severity(group);
    finding.message = waitMessage(group);
    const Event &event = group.first->event;
    if (event.kind == EventKind::kCopy && event.from.isHost())
      finding.remedy =
          group.all_flags & kPinned
              ? "it is pinned already: add non_blocking=true, and leave it as it is until the copy "
                "is done"
              : "create it on the device, or copy from pinned memory with non_blocking=true";
    finding.from = deviceName(event.from);
    if (event.kind == EventKind::kCopy)
      finding.to = deviceName(event.to);
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
