// The scopes of the public API, on the thread that calls: which levels hold for copies and waits,
// and who counts them. They live in LibTorch's ThreadLocalDebugInfo, so a backward started inside a
// scope runs inside it, on whichever thread, and no other thread does. Outside of all scopes the
// levels of DEVSAN_OPTIONS hold.
#pragma once

#include "runtime/protocol/event.h"
#include "runtime/protocol/levels.h"

#include <cstdint>

namespace devsan::runtime {

Guards currentGuards();

// Sets the flags that follow from the scopes and from the event's step. For each event, before it
// is written.
void applyGuards(Event &event);

// Adds the event to what the scopes around it count. For each event that happened.
void countInScopes(const Event &event);

} // namespace devsan::runtime
