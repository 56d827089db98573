// The kinds of devices that this process has kernels for.
#pragma once

#include "runtime/protocol/event.h"

#include <c10/core/Device.h>
#include <c10/core/DispatchKey.h>

#include <span>

namespace devsan::runtime {

// CUDA, MPS, XPU … without the CPU: those for which memory can be allocated. Constant after the
// first call.
std::span<const c10::DispatchKey> deviceKeys();

inline DeviceId toDeviceId(c10::Device device) {
  return {static_cast<std::int8_t>(device.type()), static_cast<std::int8_t>(device.index())};
}

} // namespace devsan::runtime
