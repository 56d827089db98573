#include "runtime/detectors/detector.h"
#include "runtime/detectors/launches.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectMissingGuard(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return isProgramsLaunch(event) && reachesOtherDevice(event);
       })) {
    const Event &event = group.first->event;
    core::Finding finding = makeFinding("device-missing-guard", group);
    finding.from = deviceName(event.from);
    finding.to = deviceName(event.to);
    finding.message = kernelText(*group.first) + " was launched on " + finding.from +
                      ", the current device, with memory of " + finding.to;
    addRelated(finding, group.first->related,
               (group.first->has(kOriginIsMove) ? "moved to " : "made on ") + finding.to + " here");
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
