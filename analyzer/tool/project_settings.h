// The project's .devsan.toml, as `devsan check` uses it: the nearest above the first file.
#pragma once

#include "analyzer/tool/options.h"
#include "core/suppressions.h"

#include <string>

namespace devsan::analyzer {

// Takes from [check] what the command line leaves open. A value that the option would not take is
// an error with file and line.
core::Result<void> applyProjectFile(Options &options, const std::string &first_file);

// Those of the project file and of the files given with --suppressions.
core::Result<core::Suppressions> readSuppressions(const Options &options,
                                                  const std::string &first_file);

// The rules of --checks as clang-tidy's list of globs. A glob that matches nothing is an error that
// lists the rules, and so are globs that leave none.
core::Result<std::string> validChecks(const std::string &globs);

} // namespace devsan::analyzer
