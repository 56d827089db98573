#include "analyzer/flags/project_flags.h"

#include "analyzer/files/source_files.h"
#include "analyzer/flags/cmake_script.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

// NAME, NAME=VALUE or NAME(PARAMETERS)=VALUE: all else is an error on clang's command line, and so
// in every file.
bool isDefinition(StringRef macro) {
  const StringRef name =
      macro.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; });
  const StringRef behind = macro.substr(name.size());
  return !name.empty() && !llvm::isDigit(name.front()) &&
         (behind.empty() || behind.starts_with("=") ||
          (behind.starts_with("(") && behind.contains(")=")));
}

void addMacro(std::vector<std::string> &flags, const std::string &macro) {
  if (isDefinition(macro) && !isOfOtherPlatform(macro))
    flags.insert(flags.end(), {"-D", macro});
}

// LibTorch's headers ask for C++20, whatever the script was written for.
bool isOldStandard(StringRef argument) {
  return argument.consume_front("-std=") &&
         (argument.ends_with("11") || argument.ends_with("14") || argument.ends_with("17") ||
          argument.ends_with("0x") || argument.ends_with("1y") || argument.ends_with("1z"));
}

void add(std::vector<std::string> &flags, const SetupExtension &extension, bool is_cuda) {
  for (const std::string &folder : extension.include_folders)
    flags.insert(flags.end(), {"-I", folder});
  for (const std::string &macro : extension.macros)
    addMacro(flags, macro);
  for (StringRef argument : is_cuda ? extension.nvcc_arguments : extension.cxx_arguments) {
    StringRef macro = argument;
    if (macro.consume_front("-D"))
      addMacro(flags, macro.str());
    else if (!isOldStandard(argument))
      flags.push_back(argument.str());
  }
}

bool saysNothing(const SetupExtension &extension) {
  return extension.sources.empty() && extension.include_folders.empty() &&
         extension.macros.empty() && extension.cxx_arguments.empty() &&
         extension.nvcc_arguments.empty();
}

} // namespace

bool isOfOtherPlatform(std::string_view macro) {
  const StringRef name = StringRef(macro.data(), macro.size()).split('=').first;
  return name.contains("ROCM") || name.contains("HIP_PLATFORM") || name.contains("WITH_HIP") ||
         name == "USE_HIP" || name.contains("WIN32") || name.contains("WINDOWS") ||
         name.contains("MSC_VER") || name.contains("__APPLE__");
}

const std::vector<SetupExtension> &ProjectFlags::setupScript(const std::string &folder) {
  auto [entry, is_new] = setup_scripts_.try_emplace(folder);
  const std::string path = folder + "/setup.py";
  if (is_new)
    entry->second = readSetupScript(scriptText(path, error_), path);
  return entry->second;
}

const std::vector<std::string> &ProjectFlags::cmakeScripts(const std::string &file) {
  std::vector<std::string> folders; // innermost first
  for (std::string at = file; !(at = nearestFolderWith(at, {"CMakeLists.txt", ".git"})).empty();) {
    if (llvm::sys::fs::exists(at + "/CMakeLists.txt"))
      folders.push_back(at);
    if (llvm::sys::fs::exists(at + "/.git"))
      break;
  }
  if (folders.empty()) {
    static const std::vector<std::string> kNone;
    return kNone;
  }
  auto [entry, is_new] = cmake_flags_.try_emplace(folders.front());
  if (!is_new)
    return entry->second;
  CMakeScripts scripts(folders.back());
  for (const std::string &folder : llvm::reverse(folders))
    scripts.read(scriptText(folder + "/CMakeLists.txt", error_), folder);
  for (const std::string &folder : scripts.flags().include_folders)
    entry->second.insert(entry->second.end(), {"-I", folder});
  for (const std::string &macro : scripts.flags().macros)
    addMacro(entry->second, macro);
  return entry->second;
}

core::Result<std::vector<std::string>> ProjectFlags::of(const std::string &file) {
  std::vector<std::string> flags = derived(file);
  if (error_)
    return tl::unexpected(*error_);
  return flags;
}

std::vector<std::string> ProjectFlags::derived(const std::string &file) {
  const std::string folder = nearestFolderWith(file, {"setup.py"});
  std::vector<std::string> flags;
  if (folder.empty())
    return cmakeScripts(file);
  const std::vector<SetupExtension> &extensions = setupScript(folder);
  // The script only starts CMake.
  if (llvm::all_of(extensions, saysNothing))
    if (const std::vector<std::string> &cmake = cmakeScripts(file); !cmake.empty())
      return cmake;
  // A script whose lists of sources are computed does not tell whose the file is: then all count.
  const bool is_listed =
      llvm::any_of(extensions, [&](const SetupExtension &e) { return e.builds(file); });
  bool is_torch = false;
  for (const SetupExtension &extension : extensions) {
    if (is_listed && !extension.builds(file))
      continue;
    add(flags, extension, isCudaFile(file));
    is_torch |= extension.is_torch;
  }
  // What torch.utils.cpp_extension adds; the extension's name, which no header of LibTorch looks
  // at, is the same for all, so that they can share precompiled headers.
  if (is_torch)
    flags.insert(flags.end(), {"-D", "TORCH_API_INCLUDE_EXTENSION_H"});
  return flags;
}

} // namespace devsan::analyzer
