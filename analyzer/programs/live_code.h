// What of a file's code may run, as its text says: not what `#if 0` or `if (false && ready)` leave
// out.
#pragma once

#include <string>

namespace devsan::analyzer {

// Spaces stand for the rest, so that lines stay what they are.
std::string liveCodeOf(std::string text);

} // namespace devsan::analyzer
