#include "settings.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "memory_size.h"

namespace devsan::sim {
namespace {

std::size_t memory_of_device = 0;
bool protection_wanted = false;

[[noreturn]] void refuse(const char *name, const char *expected, const char *value) {
  std::fprintf(stderr, "devsan: simulated devices: %s must be %s, not %s\n", name, expected,
               *value ? value : "an empty text");
  std::_Exit(2);
}

std::size_t memoryOfMachine() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * pageSize();
}

__attribute__((constructor(101))) void readSettings() {
  const char *memory = std::getenv("DEVSAN_SIM_MEMORY");
  if (memory == nullptr) {
    memory_of_device = memoryOfMachine();
  } else if (auto bytes = parseMemorySize(memory)) {
    memory_of_device = *bytes;
  } else {
    refuse("DEVSAN_SIM_MEMORY", kMemorySizes.data(), memory);
  }
  const char *protect = std::getenv("DEVSAN_SIM_PROTECT");
  if (protect != nullptr && std::strcmp(protect, "on") == 0)
    protection_wanted = true;
  else if (protect != nullptr && std::strcmp(protect, "off") != 0)
    refuse("DEVSAN_SIM_PROTECT", "on or off", protect);
}

} // namespace

std::size_t memoryOfDevice() {
  return memory_of_device;
}

bool protectionWanted() {
  return protection_wanted;
}

std::uintptr_t pageSize() {
  static const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

} // namespace devsan::sim
