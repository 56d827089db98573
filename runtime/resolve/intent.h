// Reads from the frames between the user's line and the operator what the user's line asked for.
#pragma once

#include "core/system/source_text.h"
#include "runtime/resolve/resolve.h"

namespace devsan::runtime {

// Fills called, op, intent, spelled_out, of_simulator, without_index, measures_time and
// reads_scalar of a stack whose frames and innermost_user are known. `sources` reads the lines that
// decide it.
void readIntent(ResolvedStack &stack, core::SourceText &sources);

} // namespace devsan::runtime
