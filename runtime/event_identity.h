// Which events are equal: those that differ only in when they happened and how much they cost. The
// log and the offline half keep equal events together.
#pragma once

#include "runtime/event.h"

#include <cstring>
#include <type_traits>

namespace devsan::runtime {

// `event` without time, bytes, blocked time, step and group. Equal events have equal bytes.
inline Event identityOf(Event event) {
  event.time_ns = 0;
  event.blocked_ns = 0;
  event.bytes = 0;
  event.group = 0;
  event.step = 0;
  return event;
}
static_assert(std::has_unique_object_representations_v<Event>);

inline bool sameBytes(const Event &a, const Event &b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

} // namespace devsan::runtime
