#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {
namespace {

bool isExplicitTransfer(const ResolvedEvent &event) {
  return event.event.kind == EventKind::kCopy && event.event.from != event.event.to &&
         !event.stack->reads_scalar && !isImplicitTransfer(event) && !isConstruction(event);
}

bool isGuarded(const ResolvedEvent &event) {
  const Level level = transferLevel(event.event.flags);
  return (level == Level::kLogExplicit || level == Level::kDisallowExplicit) && !event.has(kWarmup);
}

} // namespace

// Copies that nobody spelled out are device-implicit-transfer's, at any level.
std::vector<core::Finding> detectDisallowedTransfer(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return isExplicitTransfer(event) && isGuarded(event);
       })) {
    const ResolvedEvent &event = *group.first;
    core::Finding finding = makeFinding("device-disallowed-transfer", group);
    finding.from = deviceName(event.event.from);
    finding.to = deviceName(event.event.to);
    const bool forbidden = group.any_flags & kTransferDisallowed;
    if (!forbidden)
      finding.severity = core::Severity::kWarning;
    finding.message = "copied " + sizeText(group) + " " + finding.from + " → " + finding.to +
                      inOperator(event) + " where such copies are " +
                      (forbidden ? "disallowed" : "logged") + ", " + timesText(group.count) + " (" +
                      bytesText(group.bytes) + ")";
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
