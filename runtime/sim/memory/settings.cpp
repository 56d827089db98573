#include "settings.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace devsan::sim {
namespace {

constexpr std::size_t kSmallestMemory = std::size_t{2} << 20;
constexpr std::size_t kLargestMemory = std::size_t{1} << 44;

std::size_t memory_of_device = 0;
bool protection_wanted = false;

[[noreturn]] void refuse(const char *name, const char *expected, const char *value) {
  std::fprintf(stderr, "devsan: simulated devices: %s must be %s, not %s\n", name, expected,
               *value ? value : "an empty text");
  std::_Exit(2);
}

std::size_t memoryOfMachine() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

__attribute__((constructor(101))) void readSettings() {
  const char *memory = std::getenv("DEVSAN_SIM_MEMORY");
  if (memory == nullptr) {
    memory_of_device = memoryOfMachine();
  } else if (auto bytes = parseMemorySize(memory)) {
    memory_of_device = *bytes;
  } else {
    refuse("DEVSAN_SIM_MEMORY", "a size from 2MiB to 16TiB, such as 2GiB", memory);
  }
  const char *protect = std::getenv("DEVSAN_SIM_PROTECT");
  if (protect != nullptr && std::strcmp(protect, "on") == 0)
    protection_wanted = true;
  else if (protect != nullptr && std::strcmp(protect, "off") != 0)
    refuse("DEVSAN_SIM_PROTECT", "on or off", protect);
}

} // namespace

std::optional<std::size_t> parseMemorySize(std::string_view text) {
  double number = 0;
  auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number > 0))
    return std::nullopt;
  std::string_view unit(rest, text.data() + text.size() - rest);
  while (!unit.empty() && unit.front() == ' ')
    unit.remove_prefix(1);
  constexpr struct {
    std::string_view name;
    double bytes;
  } kUnits[] = {{"", 1},           {"B", 1},           {"KB", 1e3},  {"MB", 1e6},
                {"GB", 1e9},       {"TB", 1e12},       {"KiB", 0x1p10}, {"MiB", 0x1p20},
                {"GiB", 0x1p30},   {"TiB", 0x1p40},    {"K", 0x1p10},   {"M", 0x1p20},
                {"G", 0x1p30},     {"T", 0x1p40}};
  for (const auto &known : kUnits) {
    if (unit != known.name)
      continue;
    double bytes = number * known.bytes;
    if (bytes < static_cast<double>(kSmallestMemory) || bytes > static_cast<double>(kLargestMemory))
      return std::nullopt;
    return static_cast<std::size_t>(bytes);
  }
  return std::nullopt;
}

std::size_t memoryOfDevice() {
  return memory_of_device;
}

bool protectionWanted() {
  return protection_wanted;
}

} // namespace devsan::sim
