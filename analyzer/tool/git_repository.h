// A repository of git, asked without obeying it. Its configuration names commands (file system
// monitors, filters, text converters, hooks, remotes), and whoever made the repository chose them.
// So git works on a folder of ours with a configuration of ours, and takes from the repository
// what is data alone: objects, references, the index, and how lines end.
#pragma once

#include "analyzer/tool/run_program.h"

#include <string>
#include <vector>

namespace devsan::analyzer {

class GitRepository {
public:
  // `root` holds .git: a folder, or a file that names one, as in worktrees and submodules.
  static core::Result<GitRepository> open(const std::string &root);
  GitRepository(GitRepository &&other) noexcept;
  GitRepository &operator=(GitRepository &&) = delete;
  ~GitRepository();

  ProgramOutput ask(std::vector<std::string> arguments) const;
  // Some history may not be there.
  bool isShallow() const;

private:
  explicit GitRepository(std::string root) : root_(std::move(root)) {}
  core::Result<void> prepare();
  void copySettings(const std::string &from) const;

  std::string root_;
  std::string folder_; // ours
  std::string objects_;
  std::string index_;
};

} // namespace devsan::analyzer
