#include "core/command/install_tree.h"

namespace devsan::command {

InstallTree InstallTree::ofThisExecutable() {
  std::error_code error;
  return {std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path()};
}

} // namespace devsan::command
