// The sizes that --sim-memory and DEVSAN_SIM_MEMORY take. For the command and for the simulator:
// includes the standard library alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace devsan::sim {

inline constexpr std::string_view kMemorySizes = "a size from 2MiB to 16TiB, such as 2GiB";

// Bytes in "512MiB", "1.5GB", "2 GiB", "4194304": decimal and binary units, K to T alone are
// binary.
inline std::optional<std::size_t> parseMemorySize(std::string_view text) {
  constexpr double kLeast = 0x1p21, kMost = 0x1p44; // one segment of the allocator; 16 TiB
  constexpr struct {
    std::string_view name;
    double bytes;
  } kUnits[] = {{"", 1},       {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
                {"TB", 1e12},  {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
                {"K", 0x1p10}, {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40}};
  // By hand: libstdc++ reads fractions since GCC 11 only.
  double digits = 0, scale = 0;
  std::size_t length = 0;
  for (; length < text.size(); ++length) {
    const char c = text[length];
    if (c == '.' && scale == 0) {
      scale = 1;
    } else if (c >= '0' && c <= '9') {
      digits = 10 * digits + (c - '0');
      scale *= 10;
    } else {
      break;
    }
  }
  if (length == 0 || text.substr(0, length) == ".")
    return std::nullopt;
  const double number = scale == 0 ? digits : digits / scale;
  std::string_view unit = text.substr(length);
  if (unit.starts_with(' '))
    unit.remove_prefix(1);
  for (const auto &known : kUnits) {
    double bytes = number * known.bytes;
    if (unit == known.name && bytes >= kLeast && bytes <= kMost)
      return static_cast<std::size_t>(bytes);
  }
  return std::nullopt;
}

} // namespace devsan::sim
