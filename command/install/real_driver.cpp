#include "command/install/real_driver.h"

#include "command/install/files.h"

#include <string>

namespace devsan::command {

namespace fs = std::filesystem;

fs::path realDriver(const fs::path &root) {
  std::error_code error;
  // The last one is Windows' GPU in a Linux of its own.
  for (const char *file : {"dev/nvidiactl", "dev/nvidia0", "proc/driver/nvidia/version", "dev/dxg"})
    if (fs::exists(root / file, error))
      return root / file;
  for (const char *folder : {"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64",
                             "usr/lib", "usr/lib/wsl/lib", "usr/local/nvidia/lib64"})
    if (fs::exists(root / folder / "libcuda.so.1", error))
      return root / folder / "libcuda.so.1";
  // Other folders that the loader knows: its cache holds names as they are.
  const std::string cache = contents(root / "etc/ld.so.cache").value_or("");
  const std::string name("/libcuda.so.1", sizeof "/libcuda.so.1");
  const std::size_t at = cache.find(name);
  if (at == std::string::npos)
    return {};
  const std::size_t begin = cache.rfind('\0', at);
  return cache.substr(begin + 1, at + name.size() - 2 - begin);
}

} // namespace devsan::command
