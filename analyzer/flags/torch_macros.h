// Macros that have to be defined for a file to include LibTorch at all. Code that serves several
// frameworks chooses one with `#ifdef WITH_TORCH`, and what defines it may be a script that is not
// read, or one that is run.
#pragma once

#include "analyzer/flags/compile_commands.h"

#include <string>
#include <vector>

namespace devsan::analyzer {

// Empty where the file includes LibTorch anyway, or not at all.
std::vector<std::string> macrosForTorch(const CompileCommand &command);

} // namespace devsan::analyzer
