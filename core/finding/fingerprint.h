// Fingerprints name a finding so that it is known again after unrelated edits: they hold the rule,
// the file, the enclosing function, the source line without white space, and an ordinal among
// equals, but no line number. Baselines and the merging of static with runtime findings rest on
// them.
#pragma once

#include "core/finding/finding.h"

#include <span>

namespace devsan::core {

// Fills `fingerprint` of every finding from its first location, whose file should be relative to
// the repository. A file that cannot be read counts as an empty line.
void assignFingerprints(std::span<Finding> findings);

} // namespace devsan::core
