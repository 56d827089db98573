#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {
namespace {

std::string describeAccess(const EventGroup &group, const std::string &device) {
  if (group.first->has(kFreedMemory))
    return "freed memory of " + device;
  return "the memory of a tensor on " + device + " (" + sizeText(group) + ")";
}

} // namespace

std::vector<core::Finding> detectHostAccess(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return event.event.kind == EventKind::kHostAccess;
       })) {
    const ResolvedEvent &event = *group.first;
    core::Finding finding = makeFinding("device-host-access", group);
    finding.from = deviceName(event.event.from);
    finding.to = deviceName({});
    finding.message = std::string("host code ") +
                      (event.has(kHostWrites) ? "writes to " : "reads ") +
                      describeAccess(group, finding.from) + ", " + timesText(group.count);
    if (event.related != event.stack)
      addRelated(finding, event.related,
                 (event.has(kOriginIsMove) ? "moved to " : "made on ") + finding.from + " here");
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
