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

// `install(FILES a.h DESTINATION include)`, `install(DIRECTORY src/ PATTERN "*.h" …)`
bool installsHeaders(const Command &command) {
  return command.first == "install" && llvm::any_of(command.second, [](StringRef name) {
           return llvm::is_contained({"h", "hpp", "hh", "cuh"}, name) || name.contains("include") ||
                  name.contains("header") || name.contains("hdr") || name.contains(".h");
         });
}

// What a CMake file offers others: headers, targets for their builds, modules of other languages.
bool offers(const Command &command) {
  const auto &[name, arguments] = command;
  if (name == "install")
    return installsHeaders(command) || has(arguments, "export");
  if (name == "catkin_package")
    return has(arguments, "libraries");
  if (name == "set_target_properties")
    return has(arguments, "public_header");
  return llvm::StringSwitch<bool>(name)
      .Cases({"pybind11_add_module", "python_add_library", "nanobind_add_module",
              "swig_add_library", "swig_add_module"},
             true)
      .Cases({"export", "ament_export_libraries", "ament_export_targets"}, true)
      .Case("rclcpp_components_register_node", true)
      .Default(false);
}

// Whether it makes a library that could be used without headers of its own: it is installed, shared
// or has an alias.
bool makesLibrary(llvm::ArrayRef<Command> commands) {
  llvm::StringSet<> libraries;
  bool makes = false;
  for (const auto &[name, arguments] : commands) {
    if (name == "add_library" || name == "cuda_add_library") {
      libraries.insert(arguments.empty() ? StringRef() : arguments.front());
      makes |= has(arguments, "alias");
    } else if (name == "set" || name == "option") {
      makes |= has(arguments, "build_shared_libs");
    } else if (name == "generate_export_header") {
      makes = true;
    } else if (name == "install") {
      makes |= has(arguments, "library") || has(arguments, "archive") || has(arguments, "lib") ||
               llvm::any_of(arguments, [&](StringRef word) {
                 return word.contains("libdir") || libraries.contains(word);
               });
    }
  }
  return makes;
}

bool makesModule(const Command &command) {
  return command.first == "add_library" && has(command.second, "module");
}

// `add_library(name MODULE …)`, `juce_add_plugin(…)`: what another program loads, and calls by an
// interface of its own.
bool makesPlugin(const Command &command) {
  return makesModule(command) || command.first.contains("add_plugin") ||
         command.first.contains("loadablemodule");
}

// A library that is not part of a program alone, as far as the command tells.
bool mayBeLoadable(const Command &command) {
  const auto &[name, arguments] = command;
  if (name == "add_library" || name == "cuda_add_library") // a static one, if nothing else is said
    return has(arguments, "module") || (arguments.size() > 1 && arguments[1] == "$");
  if (name == "set_target_properties")
    return has(arguments, "suffix") || has(arguments, "prefix");
  const bool is_of_cmake = llvm::StringSwitch<bool>(name)
                               .Cases({"find_library", "link_libraries"}, true)
                               .Cases({"target_link_libraries", "pkg_check_modules"}, true)
                               .Case("pkg_search_module", true)
                               .Default(false);
  return !is_of_cmake && llvm::any_of(llvm::ArrayRef<StringRef>{"extension", "module", "plugin",
                                                                "librar", "bind", "swig", "mex"},
                                      [&](StringRef word) { return name.contains(word); });
}

bool makesShared(const Command &command) {
  const auto &[name, arguments] = command;
  return name.ends_with("add_library")
             ? has(arguments, "shared")
             : (name == "set" || name == "option") && has(arguments, "build_shared_libs");
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
  offers |= other.offers;
  makes_library |= other.makes_library;
  makes_program |= other.makes_program;
  makes_loadable |= other.makes_loadable;
  makes_shared |= other.makes_shared;
  makes_module |= other.makes_module;
  makes_plugin |= other.makes_plugin;
  has_libraries |= other.has_libraries;
  return *this;
}

Build buildOf(StringRef path, StringRef text) {
  const StringRef name = llvm::sys::path::filename(path);
  const auto says = [&](StringRef part) { return text.contains(part); };
  Build build{.has_stream_per_thread = says("per-thread") || says("PER_THREAD_DEFAULT_STREAM")};
  if (isCMakeFile(name)) {
    const CMakeFile file(text);
    build.offers = llvm::any_of(file.commands, offers);
    build.makes_library = makesLibrary(file.commands);
    build.makes_module = llvm::any_of(file.commands, makesModule);
    build.makes_plugin = llvm::any_of(file.commands, makesPlugin);
    build.has_libraries = llvm::any_of(file.commands, [](const Command &command) {
      return command.first.ends_with("add_library");
    });
    build.makes_loadable = llvm::any_of(file.commands, mayBeLoadable);
    build.makes_shared = llvm::any_of(file.commands, makesShared);
    build.makes_program = llvm::any_of(file.commands, [](const Command &command) {
      return command.first.ends_with("add_executable");
    });
  } else if (name.ends_with(".py")) {
    build.offers = says("CDLL") || says("LoadLibrary") || says("load_library");
    build.makes_module = says("cpp_extension");
    build.makes_loadable = build.makes_module;
  } else if (name == "meson.build") {
    build.offers = says("library(");
    build.makes_program = says("executable(");
    build.makes_loadable = says("librar") || says("module(");
  } else if (name.starts_with("BUILD")) {
    build.offers = says("linkshared");
    build.makes_library = says("visibility:public");
    build.makes_program = says("cc_binary(");
    build.makes_loadable = true;
  } else if (name.ends_with(".pro")) {
    build.offers = llvm::any_of(llvm::split(text, '\n'), [](StringRef line) {
      return line.ltrim().starts_with("TEMPLATE") && line.rtrim().ends_with("lib");
    });
    build.makes_program = !build.offers;
  } else if (isMakefile(name)) {
    build.offers = says("-shared") || says("LTLIBRARIES") || says("_LIBRARIES") ||
                   (says("install") && (says(".a") || says(".so")));
    build.makes_loadable = says("shared") || says(".so") || says("dylib") || says("include ");
  } else {
    build.offers = says("DynamicLibrary");
    build.makes_program = says("<ConfigurationType>Application<");
    build.makes_loadable = !build.makes_program;
  }
  build.makes_loadable |= build.offers;
  build.has_libraries |= build.makes_loadable || build.makes_shared;
  return build;
}

} // namespace devsan::analyzer
