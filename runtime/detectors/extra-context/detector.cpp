#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/read/home_device.h"
#include "runtime/resolve/names.h"

#include <algorithm>
#include <map>
#include <utility>

namespace devsan::runtime {
namespace {

using DeviceKey = std::pair<std::int8_t, std::int8_t>; // c10::DeviceType, index

DeviceKey keyOf(DeviceId device) {
  return {device.type, device.index};
}

// What the process did with one device. Only so many uses of a simulated one are recorded: a device
// that is worked on reaches that number soon.
struct Use {
  const ResolvedEvent *first = nullptr;
  std::uint64_t works = 0;
};
using Uses = std::map<DeviceKey, Use>;

// A context that was there before the runtime came has no place.
bool makesContext(const ResolvedEvent &event) {
  return event.event.kind == EventKind::kDeviceUse ||
         (event.event.kind == EventKind::kContext && event.detail != "earlier");
}

Uses usesOf(const Recording &recording) {
  const bool is_simulated = std::ranges::any_of(recording.events(), [](const ResolvedEvent &event) {
    return event.event.kind == EventKind::kDeviceUse;
  });
  Uses uses;
  for (const ResolvedEvent &event : recording.events()) {
    if (makesContext(event))
      if (Use &use = uses[keyOf(event.event.from)]; !use.first)
        use.first = &event;
    for (DeviceId device : workedOn(event.event, is_simulated))
      uses[keyOf(device)].works += event.occurrences.count;
  }
  return uses;
}

// Where the process does its work; null where it does none.
const std::pair<const DeviceKey, Use> *homeOf(const Uses &uses) {
  const std::pair<const DeviceKey, Use> *home = nullptr;
  for (const auto &entry : uses)
    if (entry.second.works > (home ? home->second.works : 0))
      home = &entry;
  return home;
}

// A device that another process works on is not this one's second device: a model that is divided
// between two has work on both.
constexpr std::uint64_t kHomeOutweighs = 4;

std::string contextMessage(const ResolvedEvent &first, std::uint64_t works,
                           const core::Finding &finding) {
  return "the process works on " + finding.from + ", but" + inOperator(first) +
         " it also made a context on " + finding.to +
         (works == 0 ? ", which it uses for nothing" : ", where another process works");
}

} // namespace

std::vector<core::Finding> detectExtraContext(const Recording &recording) {
  const Uses uses = usesOf(recording);
  const auto *home = homeOf(uses);
  if (!home)
    return {};
  const auto isAnothersHome = [&](DeviceKey device) {
    return std::ranges::any_of(recording.homesOfOthers(),
                               [&](DeviceId other) { return keyOf(other) == device; });
  };
  std::vector<core::Finding> findings;
  for (const auto &[device, use] : uses) {
    const bool is_stray =
        use.works * kHomeOutweighs <= home->second.works && isAnothersHome(device);
    if (device == home->first || !use.first || !(use.works == 0 || is_stray))
      continue;
    for (const EventGroup &group :
         groupByPlace(recording, [&](const ResolvedEvent &event) { return &event == use.first; })) {
      core::Finding finding = makeFinding("device-extra-context", group);
      finding.from = deviceName({home->first.first, home->first.second});
      finding.to = deviceName(use.first->event.from);
      finding.message = contextMessage(*use.first, use.works, finding);
      // However often the device was used like this, its context was made once.
      finding.count = 1;
      finding.steps = {};
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

} // namespace devsan::runtime
