#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/offline/names.h"

namespace devsan::runtime {

namespace {

bool isReported(const ResolvedEvent &event) {
  return !event.has(kTransferAllowed) && !event.has(kWarmup);
}

core::Finding transferFinding(const EventGroup &group, std::string why) {
  const ResolvedEvent &event = *group.first;
  core::Finding finding = makeFinding("device-implicit-transfer", group);
  if (group.any_flags & kTransferForbidden) {
    finding.severity = core::Severity::kError;
    why += ", where such copies are disallowed";
  }
  finding.from = deviceName(event.event.from);
  finding.to = deviceName(event.event.to);
  finding.message = "copied " + sizeText(group) + " " + finding.from + " → " + finding.to +
                    inOperator(event) + " " + why + ", " + timesText(group.count) + " (" +
                    bytesText(group.bytes) + ")";
  if (group.any_flags & kBlocks)
    finding.message += "; the host waited for it";
  return finding;
}

} // namespace

std::vector<core::Finding> detectImplicitTransfer(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return isImplicitTransfer(event) && isReported(event);
       }))
    findings.push_back(transferFinding(group, "although nothing asked for it"));
  // Once, it is how a tensor of host values comes to a device.
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return isConstruction(event) && isReported(event);
       })) {
    const bool of_host = group.first->event.from.isHost();
    core::Finding finding =
        transferFinding(group, of_host ? "for a tensor that is built from host values"
                                       : "for a tensor that is built from one on " +
                                             deviceName(group.first->event.from));
    finding.remedy = of_host ? "hoist it out of the loop, or move all the values at once"
                             : "keep it on its device, or spell the copy out: `.to(device)`";
    if (group.repeats < 2 && finding.severity != core::Severity::kError)
      finding.severity = core::Severity::kNote;
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
