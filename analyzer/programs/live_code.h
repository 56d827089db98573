// What of a project's code may run, as its text says: not what `#if 0` or `if (false && ready)`
// leave out, nor what only runs if a switch is on that nothing turns on.
#pragma once

#include "analyzer/programs/switches.h"

#include <string>

namespace devsan::analyzer {

// Spaces stand for the rest, so that lines stay what they are.
std::string liveCodeOf(std::string text, const Switches &switches);

} // namespace devsan::analyzer
