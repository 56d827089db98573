#include "runtime/detectors/detector.h"
#include "runtime/detectors/copies.h"
#include "runtime/detectors/groups.h"
#include "runtime/offline/names.h"

namespace devsan::runtime {
namespace {

bool blocksTheHost(const ResolvedEvent &event, const RoundTripLegs &round_trips) {
  if (event.has(kSyncAllowed))
    return false;
  if (event.event.kind == EventKind::kBlock)
    return event.has(kSyncForbidden) || event.stack->intent != Intent::kBulkMove;
  if (event.event.kind != EventKind::kCopy || !event.has(kBlocks))
    return false;
  if (event.has(kSyncForbidden))
    return true;
  // A copy that nobody asked for, or of host values into a new tensor, is reported as a copy, one
  // that was not to block as that, and moving a module, loading a file or taking a module up for
  // distributed training is no step's work.
  if (isImplicitTransfer(event) || isConstruction(event))
    return event.has(kTransferAllowed);
  return event.stack->intent != Intent::kBulkMove && !isPageableAsync(event) &&
         !round_trips.contains(event);
}

core::Severity severity(const EventGroup &group) {
  if (group.any_flags & kSyncForbidden)
    return core::Severity::kError;
  const bool spelled_out = group.first->stack->intent != Intent::kImplicit;
  return spelled_out && group.repeats < 2 ? core::Severity::kNote : core::Severity::kWarning;
}

std::string message(const EventGroup &group) {
  const Event &event = group.first->event;
  std::string text = "the host waited for ";
  if (event.kind == EventKind::kCopy && event.from.isHost())
    text += deviceName(event.to) + " to take " + sizeText(group) + " from pageable memory";
  else
    text += deviceName(event.from);
  text += inOperator(*group.first);
  if (group.any_flags & kSyncForbidden)
    text += " inside ExpectNoSync";
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
    finding.message = message(group);
    const Event &event = group.first->event;
    if (event.kind == EventKind::kCopy && event.from.isHost())
      finding.remedy = "create it on the device, or copy from pinned memory with non_blocking=true";
    finding.from = deviceName(event.from);
    if (event.kind == EventKind::kCopy)
      finding.to = deviceName(event.to);
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
