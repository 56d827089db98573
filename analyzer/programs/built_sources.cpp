#include "analyzer/programs/built_sources.h"

#include "analyzer/files/include_folders.h"
#include "analyzer/files/source_files.h"
#include "analyzer/programs/build_scripts.h"
#include "analyzer/programs/words.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/GlobPattern.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <filesystem>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

constexpr std::size_t kMaxPatterns = 1'000;
constexpr std::size_t kMaxName = 4'096;
constexpr std::size_t kMaxEnd = 64; // of a name
constexpr StringRef kExtensions[] = {".cpp", ".cc", ".cxx", ".c++", ".cu", ".c"};

// With their folders, and with what is left to be filled in.
std::vector<StringRef> wordsIn(StringRef text) {
  return runsOf(text,
                [](char c) { return !llvm::isSpace(c) && !StringRef("\"'`,;<>|=()").contains(c); });
}

bool startsCompiler(StringRef text) {
  return containsOne(text, {"g++", "clang++", "c++ ", "nvcc", "hipcc", "gcc", "CXX", "CC)", "emcc",
                            "icpx", "cl.exe", "cl /", "ompile", "cpp_extension", "uild"});
}

// Builds whose words say too little: they take whatever lies in some folder.
bool isOtherBuild(StringRef name) {
  return llvm::StringSwitch<bool>(name)
             .Cases({"xmake.lua", "SConstruct", "SConscript", "wscript", "BUCK"}, true)
             .Cases({"Android.bp", "Android.mk", "Package.swift", "platformio.ini"}, true)
             .Cases({"build.rs", "Jamfile", "Jamroot", "BUILD.gn", "make.inc"}, true)
             .Default(false) ||
         name.starts_with("premake") || name.ends_with(".Build.cs") ||
         name.ends_with(".uproject") || name.ends_with(".ino") || name.ends_with(".gyp") ||
         name.ends_with(".bzl");
}

bool endsAsSource(StringRef word) {
  return llvm::any_of(kExtensions, [&](StringRef end) { return word.ends_with(end); });
}

// A part that only the build knows: `$(NAME)`, `${name}`, `%s`, `{}`, `@NAME@`.
bool hasUnknown(StringRef word) {
  return word.find_first_of("$%{}@") != StringRef::npos;
}

// Whether CMake's `list(TRANSFORM …)` or `string(REPLACE …)` puts in, or takes out, what may be of
// a name: letters, or what only the build knows; flags and separators are none.
bool rewritesNames(StringRef lower) {
  for (const StringRef command : {"transform", "string(replace", "string(regex replace"}) {
    for (StringRef rest = lower; !(rest = rest.substr(rest.find(command))).empty();) {
      rest = rest.drop_front(command.size());
      std::vector<StringRef> arguments;
      while (!(rest = rest.ltrim()).empty() && rest.front() != ')') {
        const bool is_quoted = rest.front() == '"';
        const StringRef inner = rest.drop_front(is_quoted);
        arguments.push_back(is_quoted ? inner.split('"').first : inner.take_until([](char c) {
          return llvm::isSpace(c) || c == ')';
        }));
        rest = inner.drop_front(arguments.back().size());
        rest.consume_front("\"");
      }
      // The list and what is done to it come first, or the result and what it is made of last.
      const llvm::ArrayRef<StringRef> texts = arguments;
      for (const StringRef text : command == "transform"
                                      ? texts.drop_front(std::min<std::size_t>(2, texts.size()))
                                      : texts.take_front(2))
        if (llvm::any_of(text, llvm::isAlpha) && !text.starts_with("-"))
          return true;
    }
  }
  return false;
}

// Names are put together of parts: `${name}.cpp`, `name + ".cpp"`, `$x.cpp`,
// `src/${name}_main.cpp`.
bool composesSource(StringRef word) {
  if (llvm::is_contained(kExtensions, word) && word != ".c")
    return true;
  const StringRef name = word.substr(word.find_last_of("/\\") + 1);
  return endsAsSource(word) && hasUnknown(name);
}

// A pattern, and not of a system's folder, nor what a shell takes off a value: `${VERSION%%.*}`.
bool mayNameOwn(StringRef word) {
  constexpr StringRef kOfSystem[] = {"/var/", "/usr/", "/etc/", "/tmp/", "/opt/"};
  const StringRef before = word.take_front(word.rfind('*'));
  const StringRef value = before.substr(before.rfind("${"));
  return word.contains('*') && (value.empty() || value.contains('}')) &&
         llvm::none_of(kOfSystem, [&](StringRef folder) { return word.starts_with(folder); });
}

} // namespace

BuiltSources::BuiltSources(const ProjectFiles &files) {
  for (const std::string &path : files.code) {
    paths_.insert(path);
    by_name_[llvm::sys::path::filename(path).lower()].push_back(path);
  }
  for (const std::string &path : files.builds)
    addBuild(path, textOf(path));
}

void BuiltSources::addOthers(const ProjectFiles &files) {
  takes_all_ |= !readOthers(files, [&](const std::string &path, StringRef text) {
    const StringRef name = llvm::sys::path::filename(path);
    if (isOtherBuild(name))
      return false;
    if ((mayCompile(path) || name.ends_with(".pri")) && startsCompiler(text))
      addScript(withoutComments(text));
    addNames(text, "");
    return !takes_all_;
  });
}

void BuiltSources::addIncludes(StringRef path, llvm::ArrayRef<std::string> includes) {
  for (const std::string &included : includes)
    addName(included, llvm::sys::path::parent_path(path));
}

void BuiltSources::addBuild(const std::string &path, StringRef text) {
  const StringRef name = llvm::sys::path::filename(path),
                  folder = llvm::sys::path::parent_path(path);
  const bool is_cmake = name == "CMakeLists.txt";
  const bool is_project_file = name.ends_with(".vcxproj");
  const std::string plain = is_project_file ? text.str() : withoutComments(text);
  if (name.ends_with(".py")) {
    if (startsCompiler(plain))
      addScript(plain);
    addPython(plain, folder);
    return;
  }
  const std::string lower = StringRef(plain).lower();
  // These compute names, or take folders as they are.
  takes_all_ |= containsOne(lower, {"aux_source_directory", "ament_auto_add", "vpath", "patsubst",
                                    "addprefix", "addsuffix", "notdir", "shell find"}) ||
                rewritesNames(lower);
  if (is_cmake || name.ends_with(".cmake")) {
    // Whoever calls them may lie anywhere.
    const bool has_functions = containsOne(lower, {"macro(", "function("});
    for (const StringRef word : wordsIn(plain))
      if (word.contains('*'))
        addPattern(word, is_cmake && !has_functions ? folder : "",
                   containsOne(lower, {"glob_recurse"}));
      else
        takes_all_ |= composesSource(word);
    addNames(plain, is_cmake && !has_functions ? folder : "");
  } else {
    addScript(plain);
    addNames(plain, is_project_file || name.ends_with(".pro") || name.starts_with("BUILD") ||
                            name == "meson.build"
                        ? folder
                        : "");
    addObjects(plain);
  }
  if (names_source_)
    folders_.insert(folder);
  names_source_ = false;
}

void BuiltSources::addPython(StringRef text, StringRef folder) {
  addNames(text, "");
  bool makes_extension = text.contains("cpp_extension");
  for (const StringRef word : wordsIn(text)) {
    const StringRef called = word.substr(word.rfind('.') + 1);
    makes_extension |= called == "Extension" || called == "CppExtension" ||
                       called == "CUDAExtension" || called == "Pybind11Extension";
    computes_names_ |= composesSource(word) ||
                       (word != "c" && llvm::is_contained(kExtensions, ("." + word).str()));
  }
  computes_names_ |= containsOne(text, {"listdir", "iterdir", "scandir", "walk(", "glob(",
                                        "findall(", "ls-files", "_hip.", "hipify"});
  makes_extension_ |= makes_extension;
  takes_all_ |= makes_extension_ && computes_names_;
  if (makes_extension && names_source_)
    folders_.insert(folder);
  names_source_ = false;
}

// `kind + "_kernel.cu"`, of my_kernel.cu.
bool BuiltSources::endsKnownName(StringRef name) {
  if (ends_.empty())
    for (const auto &known : by_name_)
      for (StringRef end = known.getKey().take_back(kMaxEnd); !end.empty(); end = end.drop_front())
        ends_.insert(end);
  return ends_.contains(name);
}

// What starts compilers, or says what they get: patterns there may mean any source.
void BuiltSources::addScript(StringRef text) {
  takes_all_ |= llvm::any_of(wordsIn(text), [&](StringRef word) {
    const StringRef end = word.substr(word.rfind('*') + 1);
    const bool is_pattern =
        mayNameOwn(word) && (hasUnknown(end) || end.starts_with(".c") || end.empty() || end == ".");
    const std::string name = word.substr(word.find_last_of("/\\") + 1).lower();
    // `kind + "_kernel.cu"`
    const bool is_end = endsAsSource(name) && !by_name_.contains(name) && endsKnownName(name);
    return is_pattern || is_end ||
           (composesSource(word) && !word.ends_with("%.cpp") && !word.ends_with("%.cu") &&
            !word.ends_with("%.cc"));
  });
  // `bin/%: src/%.cpp`: whatever is asked for.
  for (const StringRef line : llvm::split(text, '\n')) {
    const auto [target, sources] = line.split(':');
    takes_all_ |= target.rtrim().ends_with("%") && !sources.empty();
  }
  takes_all_ |= containsOne(text, {"\ninclude ", "\n-include ", "\nsinclude "});
}

// Of a makefile: `work.o`, `work.cpp.o`; implicit rules make `work` of work.cpp.
void BuiltSources::addObjects(StringRef text) {
  for (StringRef word : wordsIn(text)) {
    word = word.rtrim(":\\");
    const bool is_object = word.consume_back(".o") || word.consume_back(".obj");
    const bool named = names_source_;
    if (is_object)
      addName(word, "");
    for (const StringRef extension : kExtensions)
      addName((word + extension).str(), "");
    names_source_ = named || (names_source_ && is_object); // `git push origin main`
  }
}

void BuiltSources::addNames(StringRef text, StringRef folder) {
  for (StringRef word : wordsIn(text)) {
    if (word.size() > kMaxName)
      continue;
    word = word.trim(":").rtrim(".\\");
    const StringRef known = word.substr(word.find_last_of("}$@:") + 1);
    addName(known.ltrim("/"), known.size() == word.size() ? folder : "");
  }
}

// What a name means from a folder on; all sources that it may be, where there is no such one.
void BuiltSources::addName(StringRef name, StringRef folder) {
  namespace fs = std::filesystem;
  if (name.find('.') == StringRef::npos || !asked_.insert((folder + ":" + name).str()).second)
    return;
  const std::string spelled = withSlashes(name.str());
  const auto known = by_name_.find(llvm::sys::path::filename(spelled).lower());
  if (known == by_name_.end())
    return;
  names_source_ |= endsAsSource(name.lower());
  if (!folder.empty()) {
    const std::string path = (fs::path(folder.str()) / spelled).lexically_normal().string();
    if (paths_.contains(path)) {
      taken_.insert(path);
      return;
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
}

// Of CMake; `folder` is where it begins, empty where that may be anywhere.
void BuiltSources::addPattern(StringRef word, StringRef folder, bool is_recursive) {
  for (const StringRef here : {"${CMAKE_CURRENT_SOURCE_DIR}/", "${CMAKE_CURRENT_LIST_DIR}/"})
    word.consume_front(here);
  word.consume_front("./");
  const StringRef name = llvm::sys::path::filename(word),
                  inner = llvm::sys::path::parent_path(word);
  const StringRef extension = name.contains('.') ? name.substr(name.rfind('.')) : "";
  // Headers, data, what is installed or packed.
  const bool may_be_source = extension.empty() || extension == ".*" || extension.contains("[") ||
                             extension.starts_with_insensitive(".c") || hasUnknown(extension);
  if (!may_be_source)
    return;
  names_source_ = true;
  if (folder.empty() || hasUnknown(word) || word.starts_with("/") || inner.contains("..") ||
      inner.contains('*')) {
    // `${PROJECT_SOURCE_DIR}/src/*.cpp`
    const StringRef tail = word.substr(word.find_last_of("}") + 1);
    if (hasUnknown(tail) || tail.contains("..") || tail.count('*') > 1 || !tail.contains('/'))
      takes_all_ = true;
    else
      patterns_.push_back({"", tail.str(), true});
  } else {
    patterns_.push_back(
        {inner.empty() ? folder.str() : (folder + "/" + inner).str(), name.str(), is_recursive});
  }
  takes_all_ |= patterns_.size() > kMaxPatterns;
}

bool BuiltSources::mayBuild(StringRef source) const {
  if (takes_all_ || isHeader(source.str()) || taken_.contains(source) ||
      llvm::sys::path::filename(source).contains(' '))
    return true;
  const auto takes = [&](const Pattern &pattern) {
    if (!pattern.folder.empty() &&
        (!source.starts_with(pattern.folder + "/") ||
         (!pattern.is_recursive && llvm::sys::path::parent_path(source) != pattern.folder)))
      return false;
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

llvm::StringSet<> unbuiltSources(const ProjectFiles &files, llvm::ArrayRef<DeviceWords> words) {
  BuiltSources sources(files);
  sources.addOthers(files);
  for (std::size_t i = 0; i < files.code.size(); ++i)
    sources.addIncludes(files.code[i], words[i].includes);
  llvm::StringSet<> unbuilt;
  bool builds_program = false, builds_library = false, leaves_program = false;
  for (std::size_t i = 0; i < files.code.size(); ++i) {
    if (sources.mayBuild(files.code[i])) {
      builds_program |= words[i].has_main;
      builds_library |= words[i].names_torch && !isHeader(files.code[i]);
    } else {
      unbuilt.insert(files.code[i]);
      leaves_program |= words[i].has_main;
    }
  }
  return builds_program || (builds_library && !leaves_program) ? unbuilt : llvm::StringSet<>();
}

bool PackageSources::isUnbuilt(StringRef source) {
  if (sources_.mayBuild(source))
    return false;
  if (!unbuilt_)
    unbuilt_ = findUnbuilt();
  return unbuilt_->contains(source);
}

llvm::StringSet<> PackageSources::findUnbuilt() {
  sources_.addOthers(files_);
  for (const std::string &path : files_.code)
    for (const Include &include : includesOf(path)) {
      if (include.spelling.empty())
        return {};
      sources_.addIncludes(path, {include.spelling});
    }
  llvm::StringSet<> unbuilt;
  bool builds_library = false;
  for (const std::string &path : files_.code) {
    const std::string text = textOf(path);
    if (sources_.mayBuild(path)) {
      builds_library |= !isHeader(path) && namesLibrary(text);
      continue;
    }
    unbuilt.insert(path);
    // A program that no build has.
    const std::vector<StringRef> words = wordsOf(text);
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == "main" && words[i + 1] == "(")
        return {};
  }
  return builds_library ? unbuilt : llvm::StringSet<>();
}

bool PackageSources::namesDevices() {
  if (!names_devices_)
    names_devices_ = analyzer::namesDevices(files_);
  return *names_devices_;
}

} // namespace devsan::analyzer
