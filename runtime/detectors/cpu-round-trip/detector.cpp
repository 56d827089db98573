#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectCpuRoundTrip(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return event.event.kind == EventKind::kRoundTrip && !event.has(kTransferAllowed) &&
                !event.has(kWarmup);
       })) {
    const Event &event = group.first->event;
    core::Finding finding = makeFinding("device-cpu-round-trip", group);
    finding.waits = true; // in each of its two copies
    finding.from = deviceName(event.origin);
    finding.to = deviceName(event.to);
    // What is computed on the host from what came down has a size of its own.
    finding.message = "data of " + finding.from + " went to the host, and " + sizeText(group) +
                      " of it, or made from it, came back to " + finding.to +
                      inOperator(*group.first) + ", " + timesText(group.count) + " (" +
                      bytesText(group.bytes) + ")";
    finding.remedy =
        "it is the device that needs the data again, so no wait was needed: compute on "
        "the device, or move once and stay";
    addRelated(finding, group.first->related, "left " + finding.from + " here");
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
