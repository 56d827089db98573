// Asks, while the program runs, what the report will say after it: did the program spell out what
// the stack leads to? The answer needs names for addresses and the analysis of intent, which are
// not in this process; `devsan intent` gives it, once for each stack (about a second). Any thread.
#pragma once

#include "runtime/protocol/event.h"

namespace devsan::runtime {

// False where it is explicit and where there is no answer. `copies`: a copy, not a wait alone.
bool isImplicit(StackId stack, bool copies);

} // namespace devsan::runtime
