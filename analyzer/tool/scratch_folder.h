// Where clang, which may be ended at any moment or leave what it made, puts temporary files.
#pragma once

#include <string>

namespace devsan::analyzer {

// Makes a folder, which is $TMPDIR until it is removed with all that is in it. Where none can be
// made, nothing changes.
class ScratchFolder {
public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  ~ScratchFolder();

private:
  std::string folder_;
  std::string before_;
};

} // namespace devsan::analyzer
