// Writes fixes into the sources.
#pragma once

#include "core/finding.h"
#include "core/result.h"

#include <vector>

namespace devsan::analyzer {

// Applies the fixes and takes the findings that they repair out of the list. A fix that overlaps an
// earlier one is left, with its finding, for the next run; so is that of a known finding. Relative
// paths start in `folder`. Returns how many findings were repaired.
core::Result<unsigned> applyFixes(std::vector<core::Finding> &findings, const std::string &folder);

} // namespace devsan::analyzer
