#include "visible_devices.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace devsan::sim {
namespace {

constexpr std::string_view kUuidPrefix = "GPU-";

int byUuid(std::string_view start, c10::DeviceIndex machine_devices) {
  int found = -1;
  for (c10::DeviceIndex i = 0; i < machine_devices; ++i) {
    const auto uuid = deviceUuid(i);
    if (!std::string_view(uuid.data()).starts_with(start))
      continue;
    if (found >= 0)
      return -1; // ambiguous
    found = i;
  }
  return found;
}

// -1 where the entry names no device. What follows a number is ignored, as strtol does.
int deviceOf(std::string_view entry, c10::DeviceIndex machine_devices) {
  entry.remove_prefix(std::min(entry.find_first_not_of(" \t"), entry.size()));
  if (entry.starts_with(kUuidPrefix))
    return byUuid(entry.substr(kUuidPrefix.size()), machine_devices);
  int number = -1;
  auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  return error == std::errc() && number >= 0 && number < machine_devices ? number : -1;
}

} // namespace

std::array<char, 37> deviceUuid(c10::DeviceIndex physical) {
  std::array<char, 37> uuid;
  std::snprintf(uuid.data(), uuid.size(), "44657653-616e-0000-0000-00000000%04x",
                static_cast<unsigned>(physical));
  return uuid;
}

VisibleDevices visibleDevices(const char *text, c10::DeviceIndex machine_devices) {
  VisibleDevices visible;
  if (text == nullptr) {
    visible.count = machine_devices;
    for (c10::DeviceIndex i = 0; i < machine_devices; ++i)
      visible.physical[static_cast<std::size_t>(i)] = i;
    return visible;
  }
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const int device = deviceOf(entry, machine_devices);
    if (device < 0)
      break;
    auto *const end = visible.physical.begin() + visible.count;
    if (std::find(visible.physical.begin(), end, device) != end)
      return {};
    visible.physical[static_cast<std::size_t>(visible.count++)] =
        static_cast<c10::DeviceIndex>(device);
  }
  return visible;
}

} // namespace devsan::sim
