#include "runtime/detectors/detector.h"
#include "runtime/detectors/launches.h"
#include "runtime/offline/names.h"

namespace devsan::runtime {
namespace {

bool isOnDefaultStream(const ResolvedEvent &event) {
  // A launch on the wrong device has the wrong stream too, and one remedy.
  return isProgramsLaunch(event) && event.has(kDefaultStream) && !reachesOtherDevice(event);
}

// The stream that was current in LibTorch, which the launch did not take.
bool anotherIsCurrent(const ResolvedEvent &event) {
  const std::string current = currentStreamOf(event);
  return !current.empty() && current != "0" && current != "?";
}

core::Finding makeStreamFinding(const EventGroup &group, bool another_is_current) {
  const ResolvedEvent &event = *group.first;
  core::Finding finding = makeFinding("device-wrong-stream", group);
  finding.from = deviceName(event.event.from);
  finding.message =
      kernelText(event) + " was launched on the legacy default stream of " + finding.from;
  if (another_is_current)
    finding.message += " while stream " + currentStreamOf(event) + " is LibTorch's current one";
  else {
    finding.message += ": right only as long as that is LibTorch's current stream, as it was";
    finding.severity = core::Severity::kWarning;
  }
  finding.message += ", " + timesText(group.count);
  return finding;
}

} // namespace

std::vector<core::Finding> detectWrongStream(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (bool another_is_current : {true, false})
    for (const EventGroup &group : groupByPlace(recording, [&](const ResolvedEvent &event) {
           return isOnDefaultStream(event) && anotherIsCurrent(event) == another_is_current;
         }))
      findings.push_back(makeStreamFinding(group, another_is_current));
  return findings;
}

} // namespace devsan::runtime
