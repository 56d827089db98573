#include "runtime/read/home_device.h"

#include <cstdint>
#include <map>
#include <utility>

namespace devsan::runtime {

std::vector<DeviceId> workedOn(const Event &event, bool is_simulated) {
  std::vector<DeviceId> devices;
  const auto add = [&](DeviceId device) {
    if (!device.isHost() && device.index >= 0)
      devices.push_back(device);
  };
  if (is_simulated) {
    if (event.kind == EventKind::kDeviceUse && !(event.flags & kContextOnly))
      add(event.from);
  } else if (event.kind == EventKind::kAllocation || event.kind == EventKind::kLaunch) {
    add(event.from);
  } else if (event.kind == EventKind::kCopy) {
    add(event.from);
    if (event.to != event.from)
      add(event.to);
  }
  return devices;
}

std::optional<DeviceId> homeDevice(std::span<const Tally> tallies, bool is_simulated) {
  std::map<std::pair<std::int8_t, std::int8_t>, std::uint64_t> works;
  std::optional<DeviceId> home;
  std::uint64_t most = 0;
  for (const Tally &tally : tallies)
    for (DeviceId device : workedOn(tally.first, is_simulated)) {
      std::uint64_t &count = works[{device.type, device.index}];
      count += tally.occurrences.count;
      if (count > most) {
        most = count;
        home = device;
      }
    }
  return home;
}

} // namespace devsan::runtime
