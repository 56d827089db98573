// What the program's start says about device memory: DEVSAN_SIM_MEMORY and DEVSAN_SIM_PROTECT, as
// `devsan run --sim-memory=SIZE --sim-protect=on|off` sets them. Read once, when the library is
// loaded; a bad value ends the process with status 2. Any thread; nothing here allocates.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace devsan::sim {

// Bytes in "512MiB", "2 GiB", "1.5GB", "1048576": decimal and binary units, at least 2 MiB (one
// segment).
std::optional<std::size_t> parseMemorySize(std::string_view text);

// What one device has: the given size, or the memory of this machine.
std::size_t memoryOfDevice();

bool protectionWanted();

} // namespace devsan::sim
