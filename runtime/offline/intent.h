// Reads from the frames between the user's line and the operator what the user's line asked for.
#pragma once

#include "runtime/offline/resolve.h"

namespace devsan::runtime {

// Fills called, op, intent, spelled_out, of_simulator, without_index and reads_scalar of a stack whose frames
// and innermost_user are known.
void readIntent(ResolvedStack &stack);

} // namespace devsan::runtime
