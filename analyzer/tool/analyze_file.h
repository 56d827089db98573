// Parses one file and runs the checks over it.
#pragma once

#include "analyzer/tool/compile_commands.h"
#include "analyzer/tool/file_result.h"

#include <string>

namespace devsan::analyzer {

// `checks` is clang-tidy's list of globs. `pch` names a precompiled header that fits the command, or is empty. Changes
// the process's current folder: runs in a child process.
FileResult analyzeFile(const CompileCommand &command, const std::string &checks, const std::string &pch);

// Parses `text` (a few includes) with the command's common arguments into a precompiled header. False where it does not
// parse; the header is then not written.
bool precompile(const CompileCommand &command, const std::string &text, const std::string &output);

} // namespace devsan::analyzer
