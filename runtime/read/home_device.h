// Where a process does its work, as far as its events tell.
#pragma once

#include "runtime/protocol/event.h"
#include "runtime/read/log_reader.h"

#include <optional>
#include <span>
#include <vector>

namespace devsan::runtime {

// The devices on which an event put memory or work. A simulated device says how it is used; on a
// real one CUDA's calls do, and what LibTorch copies.
std::vector<DeviceId> workedOn(const Event &event, bool is_simulated);

// None for a process that put nothing on any device.
std::optional<DeviceId> homeDevice(std::span<const Tally> tallies, bool is_simulated);

} // namespace devsan::runtime
