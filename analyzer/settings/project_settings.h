// The project's .devsan.toml, as `devsan check` uses it: the nearest at or above the folder that
// all files lie in, so that it does not depend on which file comes first.
#pragma once

#include "analyzer/settings/options.h"
#include "core/project/project_file.h"
#include "core/project/suppressions.h"

#include <llvm/ADT/ArrayRef.h>

#include <string>
#include <vector>

namespace devsan::analyzer {

class ProjectSettings {
public:
  static core::Result<ProjectSettings> find(llvm::ArrayRef<std::string> files);

  // Takes from [check] what the command line leaves open. A value that the option would not take is
  // an error with file and line.
  core::Result<void> apply(Options &options) const;

  // Whether [check] leaves out the file, an absolute path, or a folder that it lies in.
  bool excludes(const std::string &file) const;

  // Whether its settings alone leave nothing that any of these rules could find in any of the
  // files.
  bool silences(const std::vector<std::string> &files, llvm::ArrayRef<std::string> rules) const;

  // Empty where there is none.
  const std::string &path() const { return path_; }

  // Those of the project file and of the files given with --suppressions.
  core::Result<core::Suppressions> suppressions(const Options &options) const;

  // Project files that do not count, and why: sentences.
  const std::vector<std::string> &ignoredProjectFiles() const { return ignored_project_files_; }

private:
  std::string path_; // empty where there is none
  std::string text_;
  core::ProjectFile file_;
  std::vector<std::string> ignored_project_files_;
  std::string foreign_; // of these, the one that belongs to another user
};

// The rules that such a list names.
std::vector<std::string> checksIn(llvm::StringRef globs);

// The rules of --checks as clang-tidy's list of globs. A glob that matches nothing is an error that
// lists the rules, and so are globs that leave none.
// `name` is what the error calls them.
core::Result<std::string> validChecks(const std::string &globs,
                                      const std::string &name = "--checks");

} // namespace devsan::analyzer
