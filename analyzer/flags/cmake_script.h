// What the CMakeLists.txt files of a project say about include folders and macros, for projects
// that have not been configured. A guess: conditions count as true, targets are not told apart,
// and what a variable holds that the files do not set is left out.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::analyzer {

struct CMakeFlags {
  std::vector<std::string> include_folders; // absolute
  std::vector<std::string> macros;          // NAME or NAME=VALUE
};

class CMakeScripts {
public:
  // `root` is the folder of the topmost CMakeLists.txt.
  explicit CMakeScripts(const std::string &root);

  // To be called for outer folders first. `folder` is the script's.
  void read(std::string_view text, const std::string &folder);

  const CMakeFlags &flags() const { return flags_; }

private:
  void command(const std::string &name, const std::vector<std::string> &arguments,
               const std::string &folder);
  // Nothing where it depends on what is not known.
  std::vector<std::string> expanded(const std::string &argument);

  std::map<std::string, std::string> variables_;
  std::size_t work_ = 0;
  CMakeFlags flags_;
};

} // namespace devsan::analyzer
