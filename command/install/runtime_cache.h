// The libraries that run inside the program, built for LibTorchs other than the one that DevSan was
// built with. Kept in $XDG_CACHE_HOME/devsan/runtime, one folder for each LibTorch, compiler and
// state of our sources; built on first use. Several processes may ask at once, as the ranks of a
// distributed program do: one builds, the others wait for it and take its library or its failure.
// What other users can write is refused.
#pragma once

#include "command/install/install_tree.h"
#include "core/system/result.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace devsan::command {

// lib/runtime-sources.txt, which the build writes: what the prebuilt libraries were made of, and
// with what. One `key value` a line, lists separated by semicolons.
struct RuntimeSources {
  std::string torch_id;
  std::string torch_version;
  bool is_installed = false;  // not of a build tree
  std::filesystem::path root; // where the #includes start
  std::filesystem::path compiler;
  std::filesystem::path python; // empty where there is none
  // Made from LibTorch's list of operators: the prebuilt simulator's file, the script, its
  // arguments.
  std::vector<std::vector<std::string>> generated;
  std::vector<std::filesystem::path> hooks;
  std::vector<std::filesystem::path> simulator;
  std::vector<std::filesystem::path> simulator_cuda_build; // for LibTorchs that are built with CUDA
  std::filesystem::path cuda_headers;                      // what these include of CUDA's
};

core::Result<RuntimeSources> readRuntimeSources(const InstallTree &tree);

struct ProgramTorch {
  std::filesystem::path library; // libtorch_cpu.so
  std::string id;                // as the shim reads it
};

// The LibTorchs that the tree brings libraries for beside the one that it was built with: their
// folders by version.
std::map<std::string, std::filesystem::path> shippedReleases(const InstallTree &tree);

// The library that takes the place of `prebuilt` with this LibTorch: from `shipped`, from the
// cache, else built now, which is told on stderr.
core::Result<std::filesystem::path> libraryFor(const RuntimeSources &sources,
                                               const ProgramTorch &torch,
                                               const std::filesystem::path &prebuilt,
                                               const std::filesystem::path &shipped);

struct CacheEntry {
  std::filesystem::path library;
  std::string torch;       // version and file, as found when it was built
  std::string problem;     // why it is not loaded; empty where it is
  bool is_damaged = false; // the problem goes away by a new build
};

// Fails where the environment names no folder: nothing is kept where other users can write.
core::Result<std::filesystem::path> runtimeCache();
std::vector<CacheEntry> cachedLibraries();

// `devsan prepare`: the shim's question, and for whoever wants no build in the first run. Prints
// the libraries that take the place of `list` (separated by colons).
struct PrepareArguments {
  std::string torch; // libtorch_cpu.so, or a folder that holds lib/libtorch_cpu.so
  std::string id;    // found out where empty
  std::string list;  // all that there are, where empty
};
int prepare(const InstallTree &tree, const PrepareArguments &arguments);

} // namespace devsan::command
