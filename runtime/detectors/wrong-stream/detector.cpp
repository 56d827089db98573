#include "runtime/detectors/detector.h"
#include "runtime/detectors/launches.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {
namespace {

// While LibTorch's current stream is the default one, both have the same handle, and a launch that
// takes LibTorch's stream cannot be told from one that takes none.
bool isOnWrongStream(const ResolvedEvent &event) {
  // A launch on the wrong device has the wrong stream too, and one remedy.
  if (!isProgramsLaunch(event) || !event.has(kDefaultStream) || reachesOtherDevice(event))
    return false;
  const std::string current = currentStreamOf(event);
  return !current.empty() && current != "0" && current != "?";
}

} // namespace

std::vector<core::Finding> detectWrongStream(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, isOnWrongStream)) {
    const ResolvedEvent &event = *group.first;
    core::Finding finding = makeFinding("device-wrong-stream", group);
    finding.from = deviceName(event.event.from);
    finding.message = kernelText(event) + " was launched on the legacy default stream of " +
                      finding.from + " while stream " + currentStreamOf(event) +
                      " is LibTorch's current one";
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
