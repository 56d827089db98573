// Folders for temporary files, which do not outlive the run, however it ends.
#pragma once

#include <string>
#include <sys/types.h>

namespace devsan::analyzer {

// A new one that its owner alone can enter. A process of its own makes it, and removes it where
// this one is ended before it can.
class TemporaryFolder {
public:
  // `name` is how its name begins.
  explicit TemporaryFolder(const char *name);
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder();

  // Absolute; empty where none can be made.
  const std::string &path() const { return path_; }

private:
  std::string path_;
  pid_t keeper_ = -1;
  int user_ = -1; // by whose end the keeper knows that the folder is done with
};

// Where clang, which may be ended at any moment or leave what it made, puts temporary files: it is
// $TMPDIR until it is removed with all that is in it. Where none can be made, nothing changes.
class ScratchFolder {
public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  ~ScratchFolder();

private:
  TemporaryFolder folder_;
  std::string before_;
};

} // namespace devsan::analyzer
