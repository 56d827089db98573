#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/offline/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectImplicitTransfer(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return isImplicitTransfer(event) && !event.has(kTransferAllowed);
       })) {
    const ResolvedEvent &event = *group.first;
    core::Finding finding = makeFinding("device-implicit-transfer", group);
    finding.from = deviceName(event.event.from);
    finding.to = deviceName(event.event.to);
    finding.message = "copied " + sizeText(group) + " " + finding.from + " → " + finding.to +
                      inOperator(event) + " although nothing asked for it, " +
                      timesText(group.count) + " (" + bytesText(group.bytes) + ")";
    if (group.any_flags & kBlocks)
      finding.message += "; the host waited for it";
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
