#include "command/install/install_tree.h"

#include <sys/auxv.h>

namespace devsan::command {

InstallTree InstallTree::ofThisExecutable() {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) // /proc is not mounted
    path = std::filesystem::canonical(reinterpret_cast<const char *>(getauxval(AT_EXECFN)), error);
  return {path.parent_path().parent_path()};
}

} // namespace devsan::command
