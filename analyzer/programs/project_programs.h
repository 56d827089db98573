// What the programs of a project may do, told from the words of all their files: where nobody names
// another device than the CPU, no tensor lies on one; what nobody names is not called.
#pragma once

#include "analyzer/programs/build_scripts.h"
#include "analyzer/programs/built_sources.h"
#include "analyzer/programs/called_code.h"
#include "analyzer/programs/device_words.h"
#include "analyzer/programs/project_files.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

class ProjectPrograms {
public:
  // Of the project of `file`, by all of its sources and headers, or of the programs in it that the
  // file is a part of; anything for a lone file.
  DeviceUse useAround(const std::string &file);
  // Whether it is a part of a program of the project, which others may use as a library too.
  bool isOfProgram(const std::string &file);
  // Whether a program of the project around `file` may come to the function around a line of
  // `path`; true where others may call it, unless it is of a package and no build takes it.
  // `by_name`: as in CalledCode. `is_built`: a build says so that is not read here.
  bool mayRun(const std::string &file, const std::string &path, unsigned line,
              llvm::StringRef by_name, bool is_built);

  // Whether `path` is a test of units, or a header of tests that these alone include.
  bool isOfUnitTest(const std::string &file, const std::string &path);

  // Whether other code than the constructors of the class may call the method of this name.
  bool mayCallBeside(const std::string &file, llvm::StringRef scope, llvm::StringRef name);

private:
  struct File {
    std::string path;
    DeviceWords words;
    bool is_header = false;
    std::vector<unsigned> includes;
    std::vector<unsigned> included_by; // of a header: files without main()
    DeviceUse use_of_programs;         // that it is a part of
    bool is_part = false;
    bool is_of_own_program = false; // not one that shows or tests what others are to use
  };
  struct Project {
    DeviceUse use = DeviceUse::all(); // too large, or called from elsewhere
    bool has_callers = true;          // beside its programs
    bool has_interface = true;        // headers, targets or modules are installed, or a package
    bool has_examples = true;         // that show how to use what is for others
    std::optional<CalledCode> called; // where nobody else calls any of it
    llvm::StringSet<> unbuilt;        // sources
    llvm::StringSet<> unit_tests;     // with their own headers
    std::optional<PackageSources> package;
    std::vector<File> files;
    llvm::StringMap<unsigned> by_path;
    llvm::StringMap<std::vector<unsigned>> by_name; // without their folders
    // What each program uses, and its files.
    std::vector<std::pair<DeviceUse, std::vector<unsigned>>> programs;

    void findTorch();
    void findUnitTests(llvm::StringRef root);
    void dropUnreached(llvm::function_ref<std::string(const File &)> live_text);
    void findGpus();
    void findNamedDevices();
    void findExports();
    void dropOwnOperators(const Build &built,
                          const llvm::StringMap<std::vector<std::string>> &others);
    void link();
    std::vector<unsigned> included(const File &by, const std::string &spelling) const;
    std::size_t addProgram(unsigned main);
  };
  Project *projectOf(const std::string &file); // null for a lone file
  static Project read(const std::string &root);

  std::map<std::string, std::string> roots_; // of files
  std::map<std::string, Project> by_root_;
};

} // namespace devsan::analyzer
