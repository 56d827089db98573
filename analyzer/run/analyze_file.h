// Parses a file by itself and runs the checks over it.
#pragma once

#include "analyzer/flags/compile_commands.h"
#include "analyzer/run/file_result.h"

#include <string>

namespace devsan::analyzer {

// `checks` is clang-tidy's list of globs. Changes the process's current folder: runs in a child
// process.
FileResult analyzeFile(const CompileCommand &command, const std::string &checks);

} // namespace devsan::analyzer
