// A repository of git, asked without obeying it. Its configuration names commands (file system
// monitors, filters, text converters, hooks, remotes), and whoever made the repository chose them.
// The user's names some that lie in whatever repository git works on. So git works on a folder of
// ours with a configuration of ours, and takes from both what is data alone: objects, references,
// a copy of the index, and how files are compared.
#pragma once

#include "analyzer/system/scratch_folder.h"
#include "core/system/run_program.h"

#include <memory>
#include <string>
#include <vector>

namespace devsan::analyzer {

class GitRepository {
public:
  // `root` holds .git: a folder, or a file that names one, as in worktrees and submodules.
  static core::Result<GitRepository> open(const std::string &root);
  core::ProgramOutput ask(std::vector<std::string> arguments) const {
    return ask(std::move(arguments), Settings::kOurs);
  }
  // By a path below the root.
  bool tracks(const std::string &file) const;
  // Some history may not be there.
  bool isShallow() const;

private:
  explicit GitRepository(std::string root) : root_(std::move(root)) {}
  core::Result<void> prepare();
  void copySettings(const std::string &of_repository) const;
  enum class Settings { kOurs, kUsers };
  core::ProgramOutput ask(std::vector<std::string> arguments, Settings settings) const;

  std::string root_;
  std::unique_ptr<TemporaryFolder> ours_;
  std::string folder_; // its path
  std::string objects_;
};

} // namespace devsan::analyzer
