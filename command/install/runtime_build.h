// Builds one of the libraries that run inside the program for another LibTorch than ours, with the
// user's compiler. Knows nothing of where the result is kept but its paths (runtime_cache.h).
#pragma once

#include "command/install/runtime_cache.h"
#include "core/system/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace devsan::command {

// CXX, which may be a program and arguments ("ccache g++"), else the compiler that built DevSan,
// else the first known one on PATH.
core::Result<std::vector<std::string>> findCompiler(const RuntimeSources &sources);

// What one build needs to know.
struct Recipe {
  const RuntimeSources &sources;
  ProgramTorch torch;
  std::filesystem::path include;
  std::string version;
  std::vector<std::string> compiler;
  std::string abi;
  bool is_simulator;
  std::filesystem::path directory; // of the cache
  std::filesystem::path name;      // of the library

  std::filesystem::path library() const { return directory / name; }
  std::filesystem::path seal() const { return directory / (name.string() + ".seal"); }
  std::filesystem::path failure() const { return directory / (name.string() + ".failed"); }
  std::filesystem::path log() const { return directory / (name.string() + ".log"); }
  // Absent where LibTorch comes without Python.
  std::filesystem::path operators() const {
    return include.parent_path().parent_path() /
           "torchgen/packaged/ATen/native/native_functions.yaml";
  }
  bool canGenerate() const;
  bool hasCuda() const;
  const std::vector<std::filesystem::path> &files() const {
    if (!is_simulator)
      return sources.hooks;
    return hasCuda() ? sources.simulator_cuda_build : sources.simulator;
  }
};

// The folder's name for everything that the library is made of, so that changed sources never meet
// an old build.
std::string keyOf(const Recipe &recipe);

// Leaves the library in `scratch`, and what the compiler said in recipe.log().
core::Result<void> compile(const Recipe &recipe, const std::filesystem::path &scratch);

} // namespace devsan::command
