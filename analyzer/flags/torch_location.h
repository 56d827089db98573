// Where LibTorch's headers are, for files whose compile command does not say.
#pragma once

#include "core/system/result.h"

#include <optional>
#include <string>
#include <vector>

namespace devsan::analyzer {

struct TorchLocation {
  std::string folder; // of the torch package
  std::string version;
  std::vector<std::string> include_folders; // torch's two, and Python's
};

struct TorchPlaces {
  std::string option;     // --torch: a folder, "none", or empty
  std::string python;     // --python, or empty
  std::string build_dir;  // -p, or empty
  std::string first_file; // absolute
};

// Where neither option is given: $VIRTUAL_ENV, CMake's cache of the build folder, the nearest
// .venv above the current folder, above the first file or above this program, CMake's variables of
// the environment, the cache of a build folder above the file, $DEVSAN_PYTHON, python3. No code of
// a checkout is run. Nothing where none has LibTorch: the files then name the headers they miss.
core::Result<std::optional<TorchLocation>> findTorch(const TorchPlaces &places, bool use_cache);

} // namespace devsan::analyzer
