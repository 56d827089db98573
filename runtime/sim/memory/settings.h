// What the program's start says about device memory: DEVSAN_SIM_MEMORY and DEVSAN_SIM_PROTECT, as
// `devsan run --sim-memory=SIZE --sim-protect=on|off` sets them. Read once, when the library is
// loaded; a bad value ends the process with status 2. Any thread; nothing here allocates.
#pragma once

#include <cstddef>

namespace devsan::sim {

// What one device has: the given size, or the memory of this machine.
std::size_t memoryOfDevice();

bool protectionWanted();

} // namespace devsan::sim
