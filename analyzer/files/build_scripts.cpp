#include "analyzer/files/build_scripts.h"

#include "analyzer/files/device_words.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/Path.h>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

using WordList = llvm::ArrayRef<StringRef>;

// Without comments, in lower case.
std::string cmakeText(StringRef text) {
  std::string plain;
  for (const StringRef line : llvm::split(text, '\n'))
    plain += line.split('#').first.lower() + "\n";
  llvm::replace(plain, '/', ' '); // of `*.cu` and paths: no comment begins there
  return plain;
}

// What a CMake file installs, exports or loads at run time that is no program.
bool makesLibrary(StringRef text) {
  const std::string plain = cmakeText(text);
  std::vector<StringRef> words = wordsOf(plain);
  llvm::StringSet<> libraries;
  bool makes = false;
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i + 1] != "(")
      continue;
    const std::size_t command = i, begin = i + 2;
    i = std::find(words.begin() + begin, words.end(), ")") - words.begin();
    const WordList arguments = WordList(words).slice(begin, i - begin);
    const auto has = [&](StringRef word) { return llvm::is_contained(arguments, word); };
    if (words[command] == "add_library" || words[command] == "cuda_add_library") {
      libraries.insert(arguments.empty() ? StringRef() : arguments.front());
      makes |= has("module") || has("alias");
    } else if (words[command] == "set" || words[command] == "option") {
      makes |= has("build_shared_libs");
    } else if (words[command] == "install") {
      makes |= has("library") || has("archive") || has("export") || has("h") || has("hpp") ||
               has("hh") || has("cuh") || has("lib") ||
               llvm::any_of(arguments,
                            [](StringRef name) {
                              return name.contains("include") || name.contains("header") ||
                                     name.contains("libdir");
                            }) ||
               llvm::any_of(arguments, [&](StringRef name) { return libraries.contains(name); });
    } else if (words[command] == "catkin_package") {
      makes |= has("libraries");
    } else {
      makes |= llvm::StringSwitch<bool>(words[command])
                   .Cases({"pybind11_add_module", "python_add_library", "nanobind_add_module",
                           "swig_add_library", "swig_add_module"},
                          true)
                   .Cases({"export", "ament_export_libraries", "ament_export_targets"}, true)
                   .Case("rclcpp_components_register_node", true)
                   .Default(false);
    }
  }
  return makes;
}

// Also of GNU's, and of automake.
bool isMakefile(StringRef name) {
  return name == "Makefile" || name == "makefile" || name == "GNUmakefile" ||
         name == "Makefile.am" || name.ends_with(".mk");
}

} // namespace

bool isBuildFile(StringRef path) {
  const StringRef name = llvm::sys::path::filename(path);
  return name == "CMakeLists.txt" || name.ends_with(".cmake") || isMakefile(name) ||
         name == "meson.build" || name == "BUILD" || name == "BUILD.bazel" ||
         name.ends_with(".pro") || name.ends_with(".vcxproj") || name.ends_with(".py");
}

bool isBuiltForOthers(StringRef path, StringRef text) {
  const StringRef name = llvm::sys::path::filename(path);
  const auto has = [&](StringRef part) { return text.contains(part); };
  if (name == "CMakeLists.txt" || name.ends_with(".cmake"))
    return makesLibrary(text);
  if (name.ends_with(".py"))
    return has("cpp_extension") || has("CDLL") || has("LoadLibrary") || has("load_library");
  if (name == "meson.build")
    return has("library(");
  if (name.starts_with("BUILD"))
    return has("visibility:public") || has("linkshared");
  if (name.ends_with(".pro"))
    return llvm::any_of(llvm::split(text, '\n'), [](StringRef line) {
      return line.ltrim().starts_with("TEMPLATE") && line.rtrim().ends_with("lib");
    });
  if (isMakefile(name))
    return has("-shared") || has("LTLIBRARIES") || has("_LIBRARIES") ||
           (has("install") && (has(".a") || has(".so")));
  return has("DynamicLibrary");
}

bool usesStreamPerThread(StringRef text) {
  return text.contains("per-thread") || text.contains("PER_THREAD_DEFAULT_STREAM");
}

} // namespace devsan::analyzer
