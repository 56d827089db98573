#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/detectors/streams_text.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectAsyncCopyRace(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return event.event.kind == EventKind::kEarlyAccess;
       })) {
    const ResolvedEvent &event = *group.first;
    core::Finding finding = makeFinding("device-async-copy-race", group);
    finding.from = deviceName(event.event.from);
    finding.to = deviceName(event.event.to);
    finding.message = std::string("the host ") + (event.has(kLaterWrites) ? "writes to" : "reads") +
                      " the result of a non_blocking copy on " + streamNames(event).earlier +
                      " before anything waited for it, " + timesText(group.count) + " (" +
                      sizeText(group) + (group.count > 1 ? " each)" : ")");
    if (event.related != event.stack)
      addRelated(finding, event.related, "copied from " + finding.from + " here");
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
