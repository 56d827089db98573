// The project's .devsan.toml, as `devsan run` and `devsan report` use it.
#pragma once

#include "command/commands.h"
#include "core/finding/ownership.h"
#include "core/project/project_file.h"
#include "core/project/suppressions.h"

#include <filesystem>

namespace devsan::command {

// Takes what the command line leaves open from the project file. A value that the option would not
// take is an error with file and line.
core::Result<void> applyProjectFile(RunArguments &arguments);

// Adds the budgets of the project file for rules that `budgets` does not limit. As above.
core::Result<void> applyProjectBudgets(std::vector<std::string> &budgets);

// What `own` says is the project's own code, else what the project file says.
core::Result<core::Ownership> readOwnership(std::vector<std::string> own);

// Those of the project file and of the files.
core::Result<core::Suppressions> readSuppressions(const std::vector<std::string> &files);

} // namespace devsan::command
