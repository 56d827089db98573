// What the program's start says about device memory: DEVSAN_SIM_MEMORY and DEVSAN_SIM_PROTECT, as
// `devsan run --sim-memory=SIZE --sim-protect=on|off` sets them. Read once, when the library is
// loaded; a bad value ends the process with status 2. Any thread; nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace devsan::sim {

// What one device has: the given size, or the memory of this machine.
std::size_t memoryOfDevice();

bool protectionWanted();

// Of the machine, a power of two.
std::uintptr_t pageSize();
inline std::uintptr_t pageDown(std::uintptr_t address) {
  return address & ~(pageSize() - 1);
}
inline std::uintptr_t pageUp(std::uintptr_t address) {
  return pageDown(address + pageSize() - 1);
}

} // namespace devsan::sim
