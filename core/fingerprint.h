// Fingerprints name a finding so that it is known again after unrelated edits: they hold the rule, the file relative to
// its repository, the enclosing function, the statement without white space, and an ordinal among equals, and no line
// number.
#pragma once

#include "core/finding.h"

#include <span>

namespace devsan::core {

// Fills `fingerprint` of every finding from its first location. Reads the source files to get the statements; a file
// that is gone counts as empty statements.
void assignFingerprints(std::span<Finding> findings);

} // namespace devsan::core
