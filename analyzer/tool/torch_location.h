// Where LibTorch's headers are, for files whose compile command does not say.
#pragma once

#include "core/result.h"

#include <optional>
#include <string>
#include <vector>

namespace devsan::analyzer {

struct TorchLocation {
  std::string folder; // of the torch package
  std::string version;
  std::vector<std::string> include_folders; // torch's two, and Python's
};

// `option` is --torch: a folder, "none", or empty. Empty asks the Python of $VIRTUAL_ENV, else of
// the nearest .venv above the current folder, above `first_file` or above this program, else
// python3, without running any code of the project. Nothing where no torch is installed: the files
// then name the headers they miss.
core::Result<std::optional<TorchLocation>> findTorch(const std::string &option,
                                                     const std::string &first_file,
                                                     bool use_cache);

} // namespace devsan::analyzer
