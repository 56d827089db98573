// Where the parts of DevSan lie, relative to the `devsan` executable: the build tree and an
// installed tree have the same shape.
#pragma once

#include <filesystem>
#include <string>

namespace devsan::command {

struct InstallTree {
  std::filesystem::path root;

  static InstallTree ofThisExecutable();

  std::filesystem::path preload() const { return root / "lib/libdevsan_preload.so"; }
  std::filesystem::path runtime() const { return root / "lib/libdevsan_runtime.so"; }
  std::filesystem::path simulator() const { return root / "lib/libdevsan_sim.so"; }
  // The stand-ins for CUDA's driver and runtime.
  std::filesystem::path cuda() const { return root / "lib/cuda"; }
  // A folder for each other LibTorch that libraries are there for, by its build id.
  std::filesystem::path shipped() const { return root / "lib/torch"; }
  std::filesystem::path notSimulated() const { return root / "lib/devsan_not_simulated.json"; }
  // For a release of clang-tidy: 22's has no number in its name.
  std::filesystem::path tidyPlugin(int release = 22) const {
    return root / ("lib/libDevSanTidy" + (release == 22 ? "" : std::to_string(release)) + ".so");
  }
  std::filesystem::path runtimeSources() const { return root / "lib/runtime-sources.txt"; }
  std::filesystem::path program() const { return root / "bin/devsan"; }
  std::filesystem::path check() const { return root / "libexec/devsan-check"; }
  std::filesystem::path symbolizer() const { return root / "libexec/devsan-symbolize"; }
  // For find_package(DevSan); an installed tree alone has it.
  std::filesystem::path package() const { return root / DEVSAN_PACKAGE_DIR; }
  std::filesystem::path demo() const { return root / "share/devsan/demo"; }
  std::filesystem::path python() const { return root / "python"; }
};

} // namespace devsan::command
