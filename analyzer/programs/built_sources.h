// Which sources of a project its builds take, by the names and patterns in the text of its files.
#pragma once

#include "analyzer/programs/device_words.h"
#include "analyzer/programs/project_files.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

class BuiltSources {
public:
  // Knows what the builds say; these say more.
  explicit BuiltSources(const ProjectFiles &files);
  void addOthers(const ProjectFiles &files); // scripts, settings, notes
  // Of each source and header.
  void addIncludes(llvm::StringRef path, llvm::ArrayRef<std::string> includes);

  // Whether a build may take the source, or another file includes it. So it is where no build
  // stands above it that names any.
  bool mayBuild(llvm::StringRef source) const;

private:
  struct Pattern {
    std::string folder, name; // `/src`, `*.cpp`; the end of a path where there is no folder
    bool is_recursive = true;
  };
  void addBuild(const std::string &path, llvm::StringRef text);
  void addScript(llvm::StringRef text);
  void addObjects(llvm::StringRef text);
  void addNames(llvm::StringRef text, llvm::StringRef folder);
  void addName(llvm::StringRef name, llvm::StringRef folder);
  void addPattern(llvm::StringRef word, llvm::StringRef folder, bool is_recursive);
  void addPython(llvm::StringRef text, llvm::StringRef folder);
  bool endsKnownName(llvm::StringRef name);

  llvm::StringMap<std::vector<std::string>> by_name_; // sources, by their names in small letters
  llvm::StringSet<> paths_, taken_, asked_;
  llvm::StringSet<> folders_; // of builds that name sources
  std::vector<Pattern> patterns_;
  bool names_source_ = false; // the build that is read
  llvm::StringSet<> ends_;    // of the names, once one was asked for
  // Of scripts in Python: they make extensions, and put names of files together.
  bool makes_extension_ = false, computes_names_ = false;
  bool takes_all_ = false; // or may do so, as far as is understood
};

// Of `files.code`, whose words these are. A program that no build has is built by hand, with all
// that lies around it.
llvm::StringSet<> unbuiltSources(const ProjectFiles &files, llvm::ArrayRef<DeviceWords> words);

// The same of a package for Python, where a build has what Python loads. No more is read than the
// question about one source needs.
class PackageSources {
public:
  explicit PackageSources(ProjectFiles files) : files_(std::move(files)), sources_(files_) {}
  bool isUnbuilt(llvm::StringRef source);
  bool namesDevices();

private:
  llvm::StringSet<> findUnbuilt();

  ProjectFiles files_;
  BuiltSources sources_;
  std::optional<llvm::StringSet<>> unbuilt_;
  std::optional<bool> names_devices_;
};

} // namespace devsan::analyzer
