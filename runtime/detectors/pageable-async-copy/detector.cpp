#include "runtime/detectors/detector.h"
#include "runtime/detectors/copies.h"
#include "runtime/detectors/groups.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {
namespace {

// Where explicit waits are judged too, it is the wait that counts, and device-host-sync says so.
bool isWanted(const ResolvedEvent &event) {
  if (event.has(kWarmup))
    return false;
  switch (syncLevel(event.event.flags)) {
  case Level::kInherit:
  case Level::kLog:
  case Level::kDisallow:
    return true;
  case Level::kAllow:
  case Level::kLogExplicit:
  case Level::kDisallowExplicit:
    return false;
  }
  return false;
}

std::string copyMessage(const EventGroup &group) {
  const Event &event = group.first->event;
  const bool from_host = event.from.isHost();
  std::string text = nonBlocking(group) + (from_host ? " from" : " into") +
                     " pageable memory: the host waited for " +
                     devicesText(from_host ? group.to : group.from) + " to " +
                     (from_host ? "take " : "give ") + sizeText(group) + inOperator(*group.first) +
                     ", " + timesText(group.count) + " (" + bytesText(group.bytes);
  if (group.blocked_ns)
    text += ", " + durationText(group.blocked_ns);
  return text + ")";
}

} // namespace

std::vector<core::Finding> detectPageableAsyncCopy(const Recording &recording) {
  const RoundTripLegs round_trips(recording);
  std::vector<core::Finding> findings;
  const auto is_reported = [&](const ResolvedEvent &event) {
    return isPageableAsync(event) && isWanted(event) && !round_trips.contains(event);
  };
  for (const EventGroup &group : groupByPlace(recording, is_reported, {.devices = true})) {
    core::Finding finding = makeFinding("device-pageable-async-copy", group);
    finding.from = *group.from.begin();
    finding.to = *group.to.begin();
    finding.waits = true;
    if (group.first->event.from.isHost())
      finding.cure = loaderRemedy(group);
    finding.message = copyMessage(group);
    if (group.first->event.from.isHost()) {
      if (!group.of_loader)
        finding.remedy = "copy from pinned memory: `tensor.pin_memory()`, once for what is copied "
                         "again";
    } else
      finding.remedy = "copy into pinned memory, and wait for the copy before reading it";
    addRelated(finding, group.first->related, "in pageable memory since here");
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
