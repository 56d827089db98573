// Which events are equal: those that differ only in when they happened and how much they cost
// (time, blocked time, bytes, group and step). The log and the offline half keep equal events
// together.
#pragma once

#include "runtime/protocol/event.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace devsan::runtime {

// An event's identity is two runs of its bytes.
struct IdentityBytes {
  static constexpr std::size_t kBegin1 = offsetof(Event, thread), kEnd1 = offsetof(Event, step);
  static constexpr std::size_t kBegin2 = offsetof(Event, flags), kEnd2 = sizeof(Event);
  char bytes[kEnd1 - kBegin1 + kEnd2 - kBegin2];

  explicit IdentityBytes(const Event &event) {
    const char *from = reinterpret_cast<const char *>(&event);
    std::memcpy(bytes, from + kBegin1, kEnd1 - kBegin1);
    std::memcpy(bytes + kEnd1 - kBegin1, from + kBegin2, kEnd2 - kBegin2);
  }
};
static_assert(std::has_unique_object_representations_v<Event>);
static_assert(IdentityBytes::kBegin1 == 4 * sizeof(std::uint64_t) &&
              IdentityBytes::kBegin2 == IdentityBytes::kEnd1 + sizeof(std::uint32_t));

inline bool areEqual(const Event &a, const Event &b) {
  using I = IdentityBytes;
  const char *x = reinterpret_cast<const char *>(&a), *y = reinterpret_cast<const char *>(&b);
  return std::memcmp(x + I::kBegin1, y + I::kBegin1, I::kEnd1 - I::kBegin1) == 0 &&
         std::memcmp(x + I::kBegin2, y + I::kBegin2, I::kEnd2 - I::kBegin2) == 0;
}

} // namespace devsan::runtime
