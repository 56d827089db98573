// Parses a file by itself and runs the checks over it.
#pragma once

#include "analyzer/flags/compile_commands.h"
#include "analyzer/parse/clang_run.h"
#include "analyzer/run/file_result.h"

#include <string>
#include <vector>

namespace devsan::analyzer {

// `checks` is clang-tidy's list of globs; `instead` is read for the files of these names;
// `stand_ins` as for Analysis. Changes
// the process's current folder: runs in a child process.
FileResult analyzeFile(const CompileCommand &command, const std::string &checks,
                       const std::vector<MemoryFile> &instead, bool stand_ins);

} // namespace devsan::analyzer
