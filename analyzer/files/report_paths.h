// Paths as people read them. The analysis works with absolute ones.
#pragma once

#include "core/finding/finding.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <string>
#include <vector>

namespace devsan::analyzer {

std::string currentFolder();

// Relative to the current folder where it lies below it. Also for text that begins with a path.
std::string shortPath(const std::string &path);

// Of the places, and of the fixes.
void forEachPath(std::vector<core::Finding> &findings,
                 llvm::function_ref<void(std::string &)> change);

// Makes paths below `repository` relative to it, and gives the findings their fingerprints.
// `repository` may be empty.
void identify(std::vector<core::Finding> &findings, const std::string &repository);

// Makes the paths of identified findings relative to the current folder, so that an editor can open
// them.
void showPathsFromHere(std::vector<core::Finding> &findings, const std::string &repository);

} // namespace devsan::analyzer
