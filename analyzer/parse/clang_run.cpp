#include "analyzer/parse/clang_run.h"

#include "analyzer/files/regular_files.h"

#include <clang/Basic/SourceManager.h>
#include <clang/Basic/SourceManagerInternals.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/VirtualFileSystem.h>

namespace devsan::analyzer {

namespace {

// Of the options that a command holds. What follows one is its value, whatever it looks like.
bool takesValue(llvm::StringRef option) {
  return llvm::is_contained({"-I", "-iquote", "-idirafter", "-isystem", "-include", "-imacros",
                             "-D", "-U", "-x", "-resource-dir"},
                            option);
}

} // namespace

std::vector<std::string> clangArguments(const CompileCommand &command,
                                        ForcedIncludes forced_includes) {
  std::vector<std::string> arguments = {"clang++"};
  const auto add = [&](const std::vector<std::string> &list, bool with_forced) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!takesValue(list[i]) || i + 1 == list.size()) {
        arguments.push_back(list[i]);
        continue;
      }
      const std::string &option = list[i], &value = list[++i];
      if (option != "-include")
        arguments.insert(arguments.end(), {option, value});
      else if (with_forced)
        // Given a forced include, the driver looks for a precompiled form beside it (header.h.pch,
        // .gch) and in the current folder, and loads it, whoever made it. The front end does not.
        arguments.insert(arguments.end(), {"-Xclang", option, "-Xclang", value});
    }
  };
  add(command.local, forced_includes == ForcedIncludes::kAll);
  add(command.common, true);
  arguments.push_back("-fsyntax-only");
  return arguments;
}

bool isInUserCode(const clang::SourceManager &sources, clang::SourceLocation location) {
  const clang::SrcMgr::SLocEntry &entry =
      sources.getSLocEntry(sources.getFileID(sources.getExpansionLoc(location)));
  return !clang::SrcMgr::isSystem(entry.getFile().getFileCharacteristic());
}

void ignoreLineMarkers(clang::SourceManager &sources) {
  if (!sources.hasLineTable())
    return;
  for (auto &[file, entries] : sources.getLineTable())
    for (clang::LineEntry &entry : entries)
      entry.FileKind = sources.getSLocEntry(file).getFile().getFileCharacteristic();
}

namespace {

std::string precompiledIn(llvm::ArrayRef<std::string> arguments) {
  const auto option = llvm::find(arguments, "-include-pch");
  return option != arguments.end() && option + 1 != arguments.end() ? *(option + 1) : std::string();
}

} // namespace

bool runClang(const std::string &folder, std::vector<std::string> arguments,
              const std::vector<MemoryFile> &memory_files,
              std::unique_ptr<clang::FrontendAction> action, clang::DiagnosticConsumer &consumer,
              std::vector<std::string> &refused) {
  llvm::sys::fs::set_current_path(folder);
  const std::string precompiled = precompiledIn(arguments);
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
      regularFiles(llvm::vfs::getRealFileSystem(), precompiled, refused));
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
