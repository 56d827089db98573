// Parses one file and runs the checks over it.
#pragma once

#include "analyzer/tool/compile_commands.h"
#include "analyzer/tool/file_result.h"

#include <string>

namespace devsan::analyzer {

// A few includes, and the file that holds them precompiled.
struct PrecompiledHeader {
  std::string text;
  std::string path;
};

// `checks` is clang-tidy's list of globs. `header`, where not null, fits the command. Changes the
// process's current folder: runs in a child process.
FileResult analyzeFile(const CompileCommand &command, const std::string &checks,
                       const PrecompiledHeader *header);

// Writes `header.path` from `header.text`, parsed with the command's common arguments. False where
// that does not parse.
bool precompile(const CompileCommand &command, const PrecompiledHeader &header);

} // namespace devsan::analyzer
