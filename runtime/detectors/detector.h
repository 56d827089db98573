// A detector is a function from a recording to findings. It prints nothing and keeps nothing, so
// that a unit test replays a recorded log. The functions are registered by the names of their
// folders (see CMakeLists.txt).
#pragma once

#include "core/finding/finding.h"
#include "runtime/resolve/resolve.h"

#include <vector>

namespace devsan::runtime {

using Detector = std::vector<core::Finding> (*)(const Recording &);

std::vector<core::Finding> detectAll(const Recording &recording);

} // namespace devsan::runtime
