#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/offline/names.h"

#include <map>
#include <set>
#include <tuple>

namespace devsan::runtime {
namespace {

using DeviceKey = std::pair<std::int8_t, std::int8_t>; // c10::DeviceType, index

DeviceKey keyOf(DeviceId device) {
  return {device.type, device.index};
}

// What one process did with one device. Only so many uses are recorded: a device that is worked on
// reaches that number soon.
struct Use {
  const ResolvedEvent *first = nullptr;
  std::uint64_t works = 0;
  std::uint64_t touches = 0; // a context was made, and no more
};

using UsesOfProcess = std::map<DeviceKey, Use>;

std::map<std::uint32_t, UsesOfProcess> usesByProcess(const Recording &recording) {
  std::map<std::uint32_t, UsesOfProcess> processes;
  for (const ResolvedEvent &event : recording.events()) {
    if (event.event.kind != EventKind::kDeviceUse)
      continue;
    Use &use = processes[event.process][keyOf(event.event.from)];
    if (!use.first)
      use.first = &event;
    (event.has(kContextOnly) ? use.touches : use.works) += event.occurrences.count;
  }
  return processes;
}

// Where a process does its work; null where it does none.
const std::pair<const DeviceKey, Use> *homeOf(const UsesOfProcess &uses) {
  const std::pair<const DeviceKey, Use> *home = nullptr;
  for (const auto &entry : uses)
    if (entry.second.works > (home ? home->second.works : 0))
      home = &entry;
  return home;
}

// A device that another process works on is not this one's second device: a model that is divided
// between two has work on both.
constexpr std::uint64_t kHomeOutweighs = 4;

struct Extra {
  const Use *use;
  const Use *home;
};

// The first uses of devices that a process has no use for.
std::map<const ResolvedEvent *, Extra>
extraUses(const std::map<std::uint32_t, UsesOfProcess> &processes) {
  std::map<std::uint32_t, const std::pair<const DeviceKey, Use> *> homes;
  for (const auto &[process, uses] : processes)
    homes[process] = homeOf(uses);
  std::map<const ResolvedEvent *, Extra> extras;
  for (const auto &[process, uses] : processes) {
    const auto *home = homes[process];
    if (!home)
      continue;
    const auto isAnothersHome = [&](DeviceKey device) {
      for (const auto &[other, its_home] : homes)
        if (other != process && its_home && its_home->first == device)
          return true;
      return false;
    };
    for (const auto &[device, use] : uses) {
      if (device == home->first)
        continue;
      const bool is_stray =
          use.works * kHomeOutweighs <= home->second.works && isAnothersHome(device);
      if (use.works == 0 || is_stray)
        extras.emplace(use.first, Extra{&use, &home->second});
    }
  }
  return extras;
}

std::string processesText(std::uint64_t count) {
  return count == 1 ? "" : ", in " + std::to_string(count) + " processes";
}

std::string message(const Extra &extra, const std::string &device, const std::string &home,
                    std::uint64_t count) {
  const ResolvedEvent &first = *extra.use->first;
  std::string text =
      "the process works on " + home + ", and made a context on " + device + inOperator(first);
  if (extra.use->works == 0)
    return text + " with nothing in it" + processesText(count);
  return text + ", where another process works" + processesText(count);
}

} // namespace

std::vector<core::Finding> detectExtraContext(const Recording &recording) {
  const std::map<std::uint32_t, UsesOfProcess> processes = usesByProcess(recording);
  const std::map<const ResolvedEvent *, Extra> extras = extraUses(processes);
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(
           recording, [&](const ResolvedEvent &event) { return extras.contains(&event); })) {
    const Extra &extra = extras.at(group.first);
    core::Finding finding = makeFinding("device-extra-context", group);
    finding.from = deviceName(extra.home->first->event.from);
    finding.to = deviceName(group.first->event.from);
    finding.message = message(extra, finding.to, finding.from, group.count);
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
