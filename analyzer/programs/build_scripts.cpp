#include "analyzer/programs/build_scripts.h"

#include "analyzer/programs/words.h"

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

using Command = std::pair<StringRef, WordList>; // its name and arguments

class CMakeFile {
public:
  explicit CMakeFile(StringRef text) : plain_(cmakeText(text)), words_(wordsOf(plain_)) {
    const WordList words = words_;
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      if (words[i + 1] != "(")
        continue;
      const WordList rest = words.drop_front(i + 2);
      commands.emplace_back(words[i], rest.take_until([](StringRef word) { return word == ")"; }));
      i += 2 + commands.back().second.size();
    }
  }

private:
  const std::string plain_;
  const std::vector<StringRef> words_;

public:
  std::vector<Command> commands;
};

bool has(WordList arguments, StringRef word) {
  return llvm::is_contained(arguments, word);
}

// `install(FILES a.h DESTINATION include)`
bool installsHeaders(const Command &command) {
  return command.first == "install" && llvm::any_of(command.second, [](StringRef name) {
           return llvm::is_contained({"h", "hpp", "hh", "cuh"}, name) || name.contains("include") ||
                  name.contains("header");
         });
}

// What a CMake file installs, exports or loads at run time that is no program.
bool makesLibrary(llvm::ArrayRef<Command> commands) {
  llvm::StringSet<> libraries;
  bool makes = false;
  for (const Command &command : commands) {
    const auto &[name, arguments] = command;
    if (name == "add_library" || name == "cuda_add_library") {
      libraries.insert(arguments.empty() ? StringRef() : arguments.front());
      makes |= has(arguments, "module") || has(arguments, "alias");
    } else if (name == "set" || name == "option") {
      makes |= has(arguments, "build_shared_libs");
    } else if (name == "install") {
      makes |= installsHeaders(command) || has(arguments, "library") || has(arguments, "archive") ||
               has(arguments, "export") || has(arguments, "lib") ||
               llvm::any_of(arguments, [&](StringRef word) {
                 return word.contains("libdir") || libraries.contains(word);
               });
    } else if (name == "catkin_package") {
      makes |= has(arguments, "libraries");
    } else {
      makes |= llvm::StringSwitch<bool>(name)
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

// `add_library(name MODULE …)`, `juce_add_plugin(…)`: what another program loads, and calls by an
// interface of its own.
bool makesPlugin(const Command &command) {
  return (command.first == "add_library" && has(command.second, "module")) ||
         command.first.contains("add_plugin") || command.first.ends_with("_module") ||
         command.first.contains("loadablemodule");
}

// A command of a project or of a tool of its, which may take sources: `pybind11_extension(…)`.
bool mayMakeLoadable(StringRef command) {
  const bool is_of_cmake = llvm::StringSwitch<bool>(command)
                               .Cases({"add_library", "cuda_add_library", "find_library"}, true)
                               .Cases({"link_libraries", "target_link_libraries"}, true)
                               .Cases({"pkg_check_modules", "pkg_search_module"}, true)
                               .Default(false);
  return !is_of_cmake && llvm::any_of(llvm::ArrayRef<StringRef>{"extension", "module", "plugin",
                                                                "librar", "bind", "swig", "mex"},
                                      [&](StringRef word) { return command.contains(word); });
}

bool isCMakeFile(StringRef name) {
  return name == "CMakeLists.txt" || name.ends_with(".cmake");
}

// Also of GNU's, and of automake.
bool isMakefile(StringRef name) {
  return name == "Makefile" || name == "makefile" || name == "GNUmakefile" ||
         name == "Makefile.am" || name.ends_with(".mk");
}

} // namespace

bool isBuildFile(StringRef path) {
  const StringRef name = llvm::sys::path::filename(path);
  return isCMakeFile(name) || isMakefile(name) || name == "meson.build" || name == "BUILD" ||
         name == "BUILD.bazel" || name.ends_with(".pro") || name.ends_with(".vcxproj") ||
         name.ends_with(".py");
}

Build &Build::operator|=(const Build &other) {
  has_stream_per_thread |= other.has_stream_per_thread;
  is_for_others |= other.is_for_others;
  makes_program |= other.makes_program;
  makes_loadable |= other.makes_loadable;
  makes_plugin |= other.makes_plugin;
  installs_headers |= other.installs_headers;
  return *this;
}

Build buildOf(StringRef path, StringRef text) {
  const StringRef name = llvm::sys::path::filename(path);
  const auto says = [&](StringRef part) { return text.contains(part); };
  Build build{.has_stream_per_thread = says("per-thread") || says("PER_THREAD_DEFAULT_STREAM")};
  if (isCMakeFile(name)) {
    const CMakeFile file(text);
    build.is_for_others = makesLibrary(file.commands);
    build.makes_plugin = llvm::any_of(file.commands, makesPlugin);
    build.installs_headers = llvm::any_of(file.commands, installsHeaders);
    for (const auto &[command, arguments] : file.commands) {
      build.makes_program |= command.ends_with("add_executable");
      build.makes_loadable |= has(arguments, "shared") || mayMakeLoadable(command);
    }
  } else if (name.ends_with(".py")) {
    build.is_for_others =
        says("cpp_extension") || says("CDLL") || says("LoadLibrary") || says("load_library");
  } else if (name == "meson.build") {
    build.is_for_others = says("library(");
    build.makes_program = says("executable(");
    build.makes_loadable = says("shared_module(");
  } else if (name.starts_with("BUILD")) {
    build.is_for_others = says("visibility:public") || says("linkshared");
  } else if (name.ends_with(".pro")) {
    build.is_for_others = llvm::any_of(llvm::split(text, '\n'), [](StringRef line) {
      return line.ltrim().starts_with("TEMPLATE") && line.rtrim().ends_with("lib");
    });
  } else if (isMakefile(name)) {
    build.is_for_others = says("-shared") || says("LTLIBRARIES") || says("_LIBRARIES") ||
                          (says("install") && (says(".a") || says(".so")));
  } else {
    build.is_for_others = says("DynamicLibrary");
    build.makes_program = says("<ConfigurationType>Application<");
  }
  build.makes_loadable |= build.is_for_others;
  return build;
}

} // namespace devsan::analyzer
