// CUDA_VISIBLE_DEVICES, as the CUDA driver reads it: which of the machine's devices a process sees,
// and under which numbers.
#pragma once

#include <array>

#include <c10/core/Device.h>

#include "runtime/sim/devices/devices.h"

namespace devsan::sim {

struct VisibleDevices {
  c10::DeviceIndex count = 0;
  std::array<c10::DeviceIndex, kMaxDevices> physical =
      {}; // the number within the machine, by index
};

// `text` is the variable's value, null where it is not set, which means all. The list ends before
// the first entry that names no device; a device named twice hides them all. An entry is a number
// or the beginning of a UUID.
VisibleDevices visibleDevices(const char *text, c10::DeviceIndex machine_devices);

// What the variable shows now. The first use of a device fixes it: see deviceCount().
VisibleDevices currentlyVisible();

// The device's UUID, as torch.cuda.get_device_properties gives it, without the "GPU-" before it.
std::array<char, 37> deviceUuid(c10::DeviceIndex physical);

} // namespace devsan::sim
