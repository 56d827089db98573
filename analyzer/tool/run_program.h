// Other programs that are asked something: Python, git.
#pragma once

#include "core/result.h"

#include <string>
#include <vector>

namespace devsan::analyzer {

struct ProgramOutput {
  int status = -1; // below 0 where it could not run or was killed
  std::string output;
  std::string errors;
};

// `program` is looked up on PATH unless it holds a slash.
ProgramOutput runProgram(const std::string &program, const std::vector<std::string> &arguments);

} // namespace devsan::analyzer
