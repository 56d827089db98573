#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/detectors/streams_text.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {
namespace {

const std::string &earlierOp(const ResolvedEvent &event) {
  return event.related && !event.related->op.empty() ? event.related->op : event.operand;
}

} // namespace

std::vector<core::Finding> detectStreamRace(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return event.event.kind == EventKind::kStreamRace;
       })) {
    const ResolvedEvent &event = *group.first;
    const StreamNames streams = streamNames(event);
    core::Finding finding = makeFinding("device-stream-race", group);
    finding.from = deviceName(event.event.from);
    finding.to = deviceName(event.event.to);
    const bool is_settled = group.all_flags & kSettled;
    if (is_settled)
      finding.severity = core::Severity::kWarning;
    finding.message = finding.op + (event.has(kLaterWrites) ? " writes on " : " reads on ") +
                      streams.later + " what " + earlierOp(event) +
                      (event.has(kEarlierWrites) ? " writes on " : " reads on ") + streams.earlier +
                      ", and no event or wait orders them, " +
                      (is_settled ? "though the host waited for later work in between, " : "") +
                      timesText(group.count) + " (" + sizeText(group) + ")";
    addRelated(finding, event.related,
               (event.has(kEarlierWrites) ? "written on " : "read on ") + streams.earlier +
                   " here");
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
