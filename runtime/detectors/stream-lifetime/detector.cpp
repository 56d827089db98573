#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/detectors/streams_text.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectStreamLifetime(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return event.event.kind == EventKind::kStreamLifetime;
       })) {
    const ResolvedEvent &event = *group.first;
    const StreamNames streams = streamNames(event);
    core::Finding finding = makeFinding("device-stream-lifetime", group);
    finding.from = deviceName(event.event.from);
    finding.to = deviceName(event.event.to);
    finding.message = "the memory that " + finding.op +
                      (event.has(kEarlierWrites) ? " writes on " : " reads on ") + streams.earlier +
                      " was released without record_stream and given out again on " +
                      streams.later + " while that may still run, " + timesText(group.count) +
                      " (" + sizeText(group) + ")";
    addRelated(finding, event.related, "given out again on " + streams.later + " here");
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
