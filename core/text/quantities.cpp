#include "core/text/quantities.h"

#include <fmt/format.h>
#include <span>

namespace devsan::core {
namespace {

std::string scaled(double value, std::span<const char *const> units) {
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < units.size(); ++unit)
    value /= 1000;
  return unit ? fmt::format("{:.1f} {}", value, units[unit])
              : fmt::format("{:.0f} {}", value, units[unit]);
}

} // namespace

std::string bytesText(std::uint64_t bytes) {
  static constexpr const char *kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  return scaled(static_cast<double>(bytes), kUnits);
}

std::string durationText(std::uint64_t nanoseconds) {
  static constexpr const char *kUnits[] = {"ns", "µs", "ms", "s"};
  return scaled(static_cast<double>(nanoseconds), kUnits);
}

std::string countText(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string timesText(std::uint64_t count) {
  return count == 1 ? "once" : fmt::format("{} times", count);
}

} // namespace devsan::core
