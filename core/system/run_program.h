// Other programs that are asked something: Python, git.
#pragma once

#include "core/system/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace devsan::core {

struct ProgramOutput {
  int status = -1; // below 0 where it could not run or was killed
  std::string output;
  std::string errors;
};

// Changes to the environment of a program that is started; std::nullopt removes the variable.
using EnvironmentChanges = std::vector<std::pair<std::string, std::optional<std::string>>>;

// Without the spaces around it.
std::string firstLine(std::string_view text);

bool isExecutable(const std::string &file);

// `name` itself where it holds a slash, else on PATH, of which only absolute folders count: the
// others depend on where the user stands, which may be a checkout of somebody else's. Empty where
// there is none.
std::string findProgram(const std::string &name);

// `program` is looked up by findProgram() unless it holds a slash. It has 30 s and 64 MB of output,
// and works in /: a version manager that stands for it (asdf, pyenv) runs what files in the current
// folder name, which may be a checkout of somebody else's. Arguments name files by absolute paths.
ProgramOutput runProgram(const std::string &program, const std::vector<std::string> &arguments,
                         const EnvironmentChanges &changes = {});

} // namespace devsan::core
