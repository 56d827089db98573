// Runs clang over one file, in this process.
#pragma once

#include "analyzer/flags/compile_commands.h"

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

enum class ForcedIncludes { kAll, kCommon };

// The command's arguments, without the file. kCommon leaves out the forced includes of the file.
std::vector<std::string> clangArguments(const CompileCommand &command,
                                        ForcedIncludes forced_includes = ForcedIncludes::kAll);

// Where the code comes from. System headers, LibTorch's among them, are not the user's. That is
// told by the folder in which a header was found, not by what a file says of itself in line markers
// or
// `#pragma GCC system_header`.
bool isInUserCode(const clang::SourceManager &sources, clang::SourceLocation location);

// From here on clang, too, goes by the folders.
void ignoreLineMarkers(clang::SourceManager &sources);

// The last argument is the file. Changes the process's current folder. `refused` gets what
// clang was not given to read (see regularFiles()).
bool runClang(const std::string &folder, std::vector<std::string> arguments,
              const std::vector<MemoryFile> &memory_files,
              std::unique_ptr<clang::FrontendAction> action, clang::DiagnosticConsumer &consumer,
              std::vector<std::string> &refused);

} // namespace devsan::analyzer
