#include "analyzer/programs/built_sources.h"

#include "analyzer/files/source_files.h"
#include "analyzer/programs/build_scripts.h"
#include "analyzer/programs/device_words.h"
#include "core/system/whole_file.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/GlobPattern.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <filesystem>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

constexpr std::size_t kMaxPatterns = 1'000;
constexpr std::size_t kMaxRead = std::size_t{64} << 20; // of what is no code

// Without what stands behind `#`, where that begins a comment.
std::string withoutComments(StringRef text) {
  std::string plain;
  for (const StringRef line : llvm::split(text, '\n')) {
    std::size_t end = 0;
    while ((end = line.find('#', end)) != StringRef::npos && end > 0 &&
           !llvm::isSpace(line[end - 1]))
      ++end;
    plain += line.take_front(end).str() + "\n";
  }
  return plain;
}

std::vector<StringRef> wordsIn(StringRef text) {
  const auto ends = [](char c) {
    return llvm::isSpace(c) || StringRef("\"'`,;<>|=()").contains(c);
  };
  std::vector<StringRef> words;
  while (!(text = text.drop_while(ends)).empty()) {
    words.push_back(text.take_until(ends));
    text = text.drop_front(words.back().size());
  }
  return words;
}

bool says(StringRef text, std::initializer_list<StringRef> parts) {
  return llvm::any_of(parts, [&](StringRef part) { return text.contains(part); });
}

bool startsCompiler(StringRef text) {
  return says(text, {"g++", "clang++", "c++ ", "nvcc", "hipcc", "gcc", "CXX", "CC)", "emcc", "icpx",
                     "cl.exe", "cl /", "ompile", "cpp_extension", "uild"});
}

// These take whatever lies in their folders.
bool takesAllSources(StringRef name) {
  return name.ends_with(".Build.cs") || name.ends_with(".uproject") || name == "Package.swift" ||
         name == "platformio.ini" || name.ends_with(".ino") || name == "build.rs";
}

bool mayBePattern(StringRef word) {
  return word.find_first_of("*?[%$@}") != StringRef::npos;
}

// What tells names apart from what they are joined with elsewhere.
bool composesNames(StringRef text) {
  return says(text, {"PREPEND", "addprefix", "vpath", "VPATH", "patsubst", "notdir", "subdir(",
                     "macro(", "MACRO(", "function(", "FUNCTION("});
}

} // namespace

BuiltSources::BuiltSources(const ProjectFiles &files) {
  for (const std::string &path : files.code) {
    paths_.insert(path);
    by_name_[llvm::sys::path::filename(path).lower()].push_back(path);
  }
  for (const std::string &path : files.builds)
    addBuild(path, textOf(path));
  std::size_t count = 0, read = 0;
  for (const auto &other : files.others)
    for (const std::string &path : other.getValue()) {
      if (++count > kMaxOtherFiles || read > kMaxRead) {
        takes_all_ = true;
        return;
      }
      takes_all_ |= takesAllSources(other.getKey());
      const std::string text = core::readFile(path, kMaxOtherSize).value_or("");
      read += text.size();
      if (StringRef(text).contains('\0'))
        continue;
      const bool compiles = mayCompile(path) && startsCompiler(text);
      addNames(path, compiles ? withoutComments(text) : text, compiles, /*resolves=*/false);
    }
  for (const std::string &path : files.code)
    for (const std::string &included : deviceWordsIn(textOf(path)).includes)
      addName(included, llvm::sys::path::parent_path(path), /*resolves=*/true);
  takes_all_ |= patterns_.size() > kMaxPatterns;
}

void BuiltSources::addBuild(const std::string &path, StringRef text) {
  const StringRef name = llvm::sys::path::filename(path);
  takes_all_ |= says(text, {"aux_source_directory", "AUX_SOURCE_DIRECTORY"});
  const bool is_project_file = name.ends_with(".vcxproj");
  const bool is_script = name.ends_with(".py");
  const std::string plain = is_project_file ? text.str() : withoutComments(text);
  // `%: %.cpp`: whatever is asked for. And implicit rules make `train` of train.cpp.
  if (is_project_file || is_script || name.ends_with(".pro") || name == "meson.build" ||
      name.starts_with("BUILD") || name == "CMakeLists.txt" || name.ends_with(".cmake")) {
    addNames(path, plain, !is_script || startsCompiler(plain),
             !is_script && !name.ends_with(".cmake") && !composesNames(plain));
    return;
  }
  for (const StringRef line : llvm::split(plain, '\n'))
    takes_all_ |= line.ltrim().starts_with("%:") || line.ltrim().starts_with("% :");
  addNames(path, plain, /*patterns=*/true, /*resolves=*/false);
  for (const StringRef word : wordsIn(plain)) {
    const StringRef stem = llvm::sys::path::stem(word.rtrim(':'));
    for (const StringRef extension : {".cpp", ".cc", ".cxx", ".cu", ".c"})
      if (!stem.empty() && addName((stem + extension).str(), "", /*resolves=*/false))
        folders_.insert(llvm::sys::path::parent_path(path));
  }
}

void BuiltSources::addNames(const std::string &path, StringRef text, bool patterns, bool resolves) {
  const StringRef folder = llvm::sys::path::parent_path(path);
  const bool is_recursive = says(text, {"RECURSE", "**", "recurse", "recursive"});
  for (StringRef word : wordsIn(text)) {
    if (mayBePattern(word)) {
      if (patterns && !word.contains("%."))
        addPattern(word, path, is_recursive);
      word = word.substr(word.find_last_of("}$@") + 1).ltrim("/\\");
      if (addName(word, folder, /*resolves=*/false) && isBuildFile(path))
        folders_.insert(folder);
      continue;
    }
    if (addName(word.rtrim(".:"), folder, resolves) && isBuildFile(path) && !path.ends_with(".py"))
      folders_.insert(folder);
  }
}

bool BuiltSources::addName(StringRef name, StringRef folder, bool resolves) {
  namespace fs = std::filesystem;
  std::string spelled = withSlashes(name.str());
  const auto known = by_name_.find(llvm::sys::path::filename(spelled).lower());
  if (spelled.empty() || known == by_name_.end())
    return false;
  if (resolves) {
    const std::string path = (fs::path(folder.str()) / spelled).lexically_normal().string();
    if (paths_.contains(path)) {
      taken_.insert(path);
      return true;
    }
  }
  StringRef tail = spelled;
  while (tail.consume_front("./") || tail.consume_front("../"))
    ;
  const std::string end = ("/" + tail).str();
  const bool any_folder = llvm::none_of(
      known->second, [&](const std::string &path) { return StringRef(path).ends_with(end); });
  for (const std::string &path : known->second)
    if (any_folder || StringRef(path).ends_with(end))
      taken_.insert(path);
  return true;
}

void BuiltSources::addPattern(StringRef word, const std::string &path, bool is_recursive) {
  const StringRef name = llvm::sys::path::filename(path),
                  folder = llvm::sys::path::parent_path(path);
  const bool is_of_cmake = name == "CMakeLists.txt" || name.ends_with(".cmake");
  bool is_below = name == "CMakeLists.txt";
  for (const StringRef here : {"${CMAKE_CURRENT_SOURCE_DIR}/", "${CMAKE_CURRENT_LIST_DIR}/"})
    word.consume_front(here);
  word.consume_front("./");
  if (word.find_first_of("}$@") != StringRef::npos || word.starts_with("..") ||
      word.starts_with("/"))
    is_below = false;
  const StringRef tail = word.substr(word.find_last_of("}$@") + 1);
  // A variable alone: what it holds is named where it is set.
  if (tail.find_first_of("*?[") == StringRef::npos && !tail.starts_with("."))
    return;
  // Sources, not whatever else is installed or packed.
  const StringRef extension = tail.substr(tail.rfind('.') + 1).ltrim("[*");
  const bool names_sources =
      tail.contains('.') && (extension.empty() || extension.starts_with_insensitive("c"));
  const bool names_all = !tail.contains('.') && tail.contains('*') && is_of_cmake;
  if (!names_sources && !names_all)
    return;
  folders_.insert(folder);
  if (!is_below) {
    patterns_.push_back({"", tail.str()});
    return;
  }
  const StringRef inner = llvm::sys::path::parent_path(tail);
  if (inner.find_first_of("*?[") != StringRef::npos)
    patterns_.push_back({folder.str(), tail.str()});
  else
    patterns_.push_back({inner.empty() ? folder.str() : (folder + "/" + inner).str(),
                         llvm::sys::path::filename(tail).str(), is_recursive});
}

bool BuiltSources::mayBuild(StringRef source) const {
  if (takes_all_ || isHeader(source.str()) || taken_.contains(source))
    return true;
  const auto takes = [&](const Pattern &pattern) {
    if (!pattern.folder.empty()) {
      if (!source.starts_with(pattern.folder + "/") ||
          (!pattern.is_recursive && llvm::sys::path::parent_path(source) != pattern.folder))
        return false;
    }
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create("*" + pattern.name);
    if (!glob) {
      llvm::consumeError(glob.takeError());
      return true;
    }
    return glob->match(source);
  };
  if (llvm::any_of(patterns_, takes))
    return true;
  for (StringRef folder = source; !(folder = llvm::sys::path::parent_path(folder)).empty();)
    if (folders_.contains(folder))
      return false;
  return true;
}

} // namespace devsan::analyzer
