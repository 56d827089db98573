#include "analyzer/files/built_sources.h"

#include "analyzer/files/source_files.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <string_view>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

// Scripts and settings are smaller, and projects have fewer files than data sets.
constexpr std::uint64_t kMaxSize = 256 << 10;
constexpr std::size_t kMaxFiles = 20'000;
constexpr std::uint64_t kMaxTotal = 32 << 20;

constexpr StringRef kExtensions[] = {".cpp", ".cc", ".cxx", ".cu"};

bool isCode(StringRef path) {
  return llvm::any_of(codeExtensions(),
                      [&](std::string_view extension) { return path.ends_with(extension); });
}

bool isOfBuild(StringRef name) {
  return name == "CMakeLists.txt" || name == "Makefile" || name.ends_with(".cmake") ||
         name.ends_with(".pro") || name.ends_with(".vcxproj");
}

// What one text names, by words that may be names of files.
struct Names {
  llvm::StringSet<> files;
  bool has_source = false;
  bool has_pattern = false; // `*.cpp`, `${name}.cpp`, `file(GLOB …)`
};

void addName(StringRef word, Names &names) {
  if (word.contains("GLOB") || word == "aux_source_directory" || word.starts_with("wildcard"))
    names.has_pattern = true;
  const StringRef file = word.rsplit('/').second.empty() ? word : word.rsplit('/').second;
  for (const StringRef extension : kExtensions)
    if (file.ends_with(extension)) {
      (file == extension ? names.has_pattern : names.has_source) = true;
      names.files.insert(file);
    }
  if (file.ends_with(".o") || file.ends_with(".obj"))
    for (const StringRef extension : kExtensions)
      names.files.insert((file.rsplit('.').first + extension).str());
}

Names namesIn(StringRef text) {
  Names names;
  const auto is_part = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-' || c == '+' || c == '/';
  };
  while (!text.empty()) {
    text = text.drop_until(is_part);
    const StringRef word = text.take_while(is_part);
    addName(word.rtrim('.'), names);
    text = text.drop_front(word.size());
  }
  return names;
}

} // namespace

BuiltSources::BuiltSources(const std::string &build_dir) {
  if (!build_dir.empty())
    compiled_ = namesIn(textOf(build_dir + "/compile_commands.json")).files;
}

bool BuiltSources::leaveOut(const std::string &file) {
  const std::string root = projectRoot(file);
  if (root.empty() || isHeader(file))
    return false;
  const auto [known, is_new] = by_root_.try_emplace(root);
  if (is_new)
    known->second = read(root);
  const Project &project = known->second;
  const StringRef name = llvm::sys::path::filename(file);
  return project.is_listed && !project.names.contains(name) && !compiled_.contains(name);
}

BuiltSources::Project BuiltSources::read(const std::string &root) {
  Project project;
  bool has_pattern = false;
  std::size_t files = 0;
  std::uint64_t total = 0;
  walkProject(root, /*third_party=*/false, [&](const std::string &path) {
    std::uint64_t size = 0;
    const bool is_code = isCode(path);
    if (!is_code && (llvm::sys::fs::file_size(path, size) || size > kMaxSize))
      return ++files < kMaxFiles;
    const std::string text = textOf(path);
    total += text.size();
    if (is_code) {
      for (const StringRef line : llvm::split(text, '\n'))
        if (line.ltrim().starts_with("#") && line.contains("include"))
          for (const auto &name : namesIn(line).files)
            project.names.insert(name.getKey());
    } else if (!StringRef(text).take_front(4096).contains('\0')) {
      const Names names = namesIn(text);
      has_pattern |= names.has_pattern;
      project.is_listed |= names.has_source && isOfBuild(llvm::sys::path::filename(path));
      for (const auto &name : names.files)
        project.names.insert(name.getKey());
    }
    return ++files < kMaxFiles && total < kMaxTotal && !has_pattern;
  });
  project.is_listed &= !has_pattern && files < kMaxFiles && total < kMaxTotal;
  return project;
}

} // namespace devsan::analyzer
