// Which sources of a project its build leaves out: backups, drafts, what another file took the
// place of. Told from the names in all files beside the sources, whatever build they are for.
#pragma once

#include <map>
#include <string>

#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

class BuiltSources {
public:
  // Knows what the compile_commands.json in that folder compiles; none where it is empty.
  explicit BuiltSources(const std::string &build_dir);

  // No file of its project names it, neither a build's nor any other, and no source includes it,
  // where builds name others and none of them takes what a pattern finds. False for a lone file.
  bool leaveOut(const std::string &file);

private:
  struct Project {
    bool is_listed = false;
    llvm::StringSet<> names; // without their folders
  };
  static Project read(const std::string &root);

  llvm::StringSet<> compiled_; // without their folders
  std::map<std::string, Project> by_root_;
};

} // namespace devsan::analyzer
