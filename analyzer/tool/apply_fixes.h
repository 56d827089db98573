// Writes fixes into the sources.
#pragma once

#include "core/finding.h"
#include "core/result.h"

#include <vector>

namespace devsan::analyzer {

// Applies the fixes and takes the findings that they repair out of the list. A fix that overlaps an
// earlier one is left, with its finding, for the next run. Returns how many findings were repaired.
core::Result<unsigned> applyFixes(std::vector<core::Finding> &findings);

} // namespace devsan::analyzer
