#include "analyzer/tool/clang_run.h"

#include "analyzer/tool/launch_spelling.h"

#include <clang/Basic/SourceManager.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/VirtualFileSystem.h>

namespace devsan::analyzer {

std::vector<std::string> commonArguments(const CompileCommand &command) {
  std::vector<std::string> arguments = {"clang++"};
  arguments.insert(arguments.end(), command.common.begin(), command.common.end());
  arguments.push_back("-fsyntax-only");
  return arguments;
}

std::vector<std::string> allArguments(const CompileCommand &command) {
  std::vector<std::string> arguments = {"clang++"};
  for (const std::string &argument : command.local) {
    // Given a forced include, the driver looks for a precompiled form beside it (header.h.pch,
    // .gch) and takes it, though it may be another compiler's or of other options. The front end
    // does not.
    if (argument == "-include")
      arguments.insert(arguments.end(), {"-Xclang", argument, "-Xclang"});
    else
      arguments.push_back(argument);
  }
  arguments.insert(arguments.end(), command.common.begin(), command.common.end());
  arguments.push_back("-fsyntax-only");
  return arguments;
}

bool isInUserCode(const clang::SourceManager &sources, clang::SourceLocation location) {
  return !sources.isInSystemHeader(sources.getExpansionLoc(location));
}

bool runClang(const std::string &folder, std::vector<std::string> arguments,
              const std::vector<MemoryFile> &memory_files,
              std::unique_ptr<clang::FrontendAction> action, clang::DiagnosticConsumer &consumer) {
  llvm::sys::fs::set_current_path(folder);
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
      joiningChevrons(llvm::vfs::getRealFileSystem()));
  if (!memory_files.empty()) {
    auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
    for (const MemoryFile &file : memory_files)
      memory->addFile(file.path, 0, llvm::MemoryBuffer::getMemBuffer(file.text));
    overlay->pushOverlay(memory);
  }
  auto files = llvm::makeIntrusiveRefCnt<clang::FileManager>(clang::FileSystemOptions(), overlay);
  clang::tooling::ToolInvocation invocation(std::move(arguments), std::move(action), files.get());
  invocation.setDiagnosticConsumer(&consumer);
  return invocation.run();
}

} // namespace devsan::analyzer
