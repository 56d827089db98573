// What a program wants to happen at a copy between devices, or when the host waits for one: the
// levels of the public scopes, of DEVSAN_OPTIONS and of the command line, and how they are packed
// into one number. The hooks, the analysis and the command share it; it needs neither LibTorch nor
// the heap. The public header repeats the packing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace devsan::runtime {

// "Explicit" is what the program spells out (`.to`, `.cpu`, `.item()`, `synchronize()`), "implicit"
// what LibTorch does on its behalf.
enum class Level : std::uint8_t {
  kInherit = 0,          // what holds outside; outermost, the rules' own judgement
  kAllow = 1,            // nothing is reported
  kLog = 2,              // implicit ones are warnings
  kDisallow = 3,         // implicit ones are errors
  kLogExplicit = 4,      // all are warnings
  kDisallowExplicit = 5, // all are errors
};

constexpr bool disallows(Level level) {
  return level == Level::kDisallow || level == Level::kDisallowExplicit;
}

enum class Guarded : std::uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice, kHostWait };

struct LevelName {
  std::string_view name;
  Level level;
};
inline constexpr std::array<LevelName, 6> kLevelNames = {
    {{"default", Level::kInherit},
     {"allow", Level::kAllow},
     {"log", Level::kLog},
     {"disallow", Level::kDisallow},
     {"log_explicit", Level::kLogExplicit},
     {"disallow_explicit", Level::kDisallowExplicit}}};
inline constexpr std::string_view kLevelList =
    "default|allow|log|disallow|log_explicit|disallow_explicit";

inline constexpr std::array<std::string_view, 4> kGuardedNames = {
    "host_to_device", "device_to_host", "device_to_device", "host_wait"};

constexpr std::optional<Level> parseLevel(std::string_view text) {
  for (const LevelName &entry : kLevelNames)
    if (entry.name == text)
      return entry.level;
  return std::nullopt;
}

constexpr std::optional<Guarded> parseGuarded(std::string_view text) {
  for (std::size_t i = 0; i < kGuardedNames.size(); ++i)
    if (kGuardedNames[i] == text)
      return static_cast<Guarded>(i);
  return std::nullopt;
}

// Four bits for each Guarded, then two that say whether what is disallowed is thrown at the place.
class Guards {
public:
  constexpr Guards() = default;
  constexpr explicit Guards(std::uint32_t bits) : bits_(bits) {}

  constexpr Level level(Guarded guarded) const {
    const std::uint32_t value = bits_ >> shift(guarded) & kLevelMask;
    return value <= static_cast<std::uint32_t>(Level::kDisallowExplicit) ? Level(value)
                                                                         : Level::kInherit;
  }
  constexpr void set(Guarded guarded, Level level) {
    bits_ &= ~(kLevelMask << shift(guarded));
    bits_ |= static_cast<std::uint32_t>(level) << shift(guarded);
  }

  constexpr bool raises() const { return (bits_ & kRaiseMask) == kRaise; }
  constexpr void setRaises(bool raises) {
    bits_ = (bits_ & ~kRaiseMask) | (raises ? kRaise : kDoNotRaise);
  }

  // What holds in a scope of `inner` within this one.
  constexpr Guards with(Guards inner) const {
    Guards result = *this;
    for (std::size_t i = 0; i < kGuardedNames.size(); ++i)
      if (Level level = inner.level(static_cast<Guarded>(i)); level != Level::kInherit)
        result.set(static_cast<Guarded>(i), level);
    if (inner.bits_ & kRaiseMask)
      result.setRaises(inner.raises());
    return result;
  }

  static constexpr std::uint32_t kRaise = 1u << 16;
  static constexpr std::uint32_t kDoNotRaise = 2u << 16;

private:
  static constexpr std::uint32_t kLevelMask = 15;
  static constexpr std::uint32_t kRaiseMask = 3u << 16;
  static constexpr unsigned shift(Guarded guarded) { return 4 * static_cast<unsigned>(guarded); }

  std::uint32_t bits_ = 0;
};

} // namespace devsan::runtime
