// Runs clang over one file, in this process.
#pragma once

#include "analyzer/tool/compile_commands.h"

#include <clang/Basic/Diagnostic.h>
#include <clang/Frontend/FrontendAction.h>

#include <memory>
#include <string>
#include <vector>

namespace devsan::analyzer {

// The memory files of this tool.
inline constexpr llvm::StringLiteral kMemoryFilePrefix = "/devsan-memory/";

// A file that exists in memory only.
struct MemoryFile {
  std::string path;
  std::string text;
};

// The command's arguments, without the file: all, or those that a precompiled header depends on.
std::vector<std::string> allArguments(const CompileCommand &command);
std::vector<std::string> commonArguments(const CompileCommand &command);

// Where the code comes from. System headers, LibTorch's among them, are not the user's.
bool isInUserCode(const clang::SourceManager &sources, clang::SourceLocation location);

// The last argument is the file. Changes the process's current folder.
bool runClang(const std::string &folder, std::vector<std::string> arguments,
              const std::vector<MemoryFile> &memory_files,
              std::unique_ptr<clang::FrontendAction> action, clang::DiagnosticConsumer &consumer);

} // namespace devsan::analyzer
