#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {
namespace {

// The device that the data belongs to: where it was before it went to the host, else where it is
// copied from.
DeviceId home(const ResolvedEvent &event) {
  return event.event.origin.isHost() ? event.event.from : event.event.origin;
}

bool landsOnOtherDevice(const ResolvedEvent &event) {
  const DeviceId from = home(event);
  const DeviceId to = event.event.to;
  return !from.isHost() && from.type == to.type && from.index != to.index &&
         !event.has(kTransferAllowed);
}

bool returnsToOtherDevice(const ResolvedEvent &event) {
  if (!landsOnOtherDevice(event))
    return false;
  if (event.event.kind == EventKind::kRoundTrip)
    return true;
  if (event.event.kind != EventKind::kCopy)
    return false;
  // A copy from one GPU to another is how models are split, unless the call did not say which GPU.
  return !event.event.from.isHost() && event.stack->without_index &&
         event.event.to.index == event.event.current_device;
}

} // namespace

std::vector<core::Finding> detectBareCuda(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, returnsToOtherDevice)) {
    core::Finding finding = makeFinding("device-bare-cuda", group);
    finding.from = deviceName(home(*group.first));
    finding.to = deviceName(group.first->event.to);
    const std::string moved =
        group.first->event.kind == EventKind::kCopy
            ? "a tensor on " + finding.from + " was moved to the current device, " + finding.to +
                  ","
            : "a tensor whose data came from " + finding.from + " was moved to " + finding.to;
    finding.message = moved + inOperator(*group.first) + ", " + timesText(group.count) + " (" +
                      bytesText(group.bytes) + ")";
    addRelated(finding, group.first->related, "left " + finding.from + " here");
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
