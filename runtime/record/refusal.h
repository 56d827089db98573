// Ends an operator by an exception, before it does anything, where a scope or
// DEVSAN_OPTIONS=raise=1 wants what it is about to do not only reported but stopped: what a test's
// author wants. The event is recorded all the same. Called by the dispatcher's hooks, on the
// program's threads; waits that are no operators end in code that must not throw and are only
// reported.
#pragma once

#include "runtime/protocol/event.h"

#include <string_view>

namespace devsan::runtime {

// Whether anything is refused on this thread at all.
bool mayRefuse();

// Throws c10::Error. `event` is complete but for its stack and the scopes' flags; `op` is its
// operator's name.
void refuseWhereDisallowed(const Event &event, std::string_view op);

} // namespace devsan::runtime
