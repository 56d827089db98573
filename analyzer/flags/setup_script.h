// What a setup.py says about how its extensions are compiled. The file is read, never executed:
// literals, names bound to them, and the few functions that setup scripts build paths with are
// understood, the rest is left out. Branches are all taken: a folder more does no harm, and the
// CUDA branch is the one that matters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace devsan::analyzer {

struct SetupExtension {
  std::string name;
  std::vector<std::string> sources;         // absolute; may hold the wildcards * and ?
  std::vector<std::string> include_folders; // absolute
  std::vector<std::string> macros;          // NAME or NAME=VALUE
  std::vector<std::string> cxx_arguments;
  std::vector<std::string> nvcc_arguments;
  bool is_torch = false; // CppExtension and its kin, not setuptools' own

  bool builds(std::string_view file) const;
};

// `path` is the script's, absolute.
std::vector<SetupExtension> readSetupScript(std::string_view text, const std::string &path);

} // namespace devsan::analyzer
