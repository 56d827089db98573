#include "core/system/file_glob.h"

#include <fnmatch.h>

namespace devsan::core {

bool coversFile(std::string_view glob, const std::string &file) {
  if (glob.ends_with('/'))
    glob.remove_suffix(1);
  return fnmatch(std::string(glob).c_str(), file.c_str(), FNM_LEADING_DIR) == 0;
}

} // namespace devsan::core
