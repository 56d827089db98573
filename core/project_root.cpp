#include "core/project_root.h"

namespace devsan::core {
namespace fs = std::filesystem;

namespace {

constexpr const char *kProjectFile = ".devsan.toml";

std::optional<fs::path> nearestWith(const fs::path &directory, const char *name) {
  std::error_code error;
  for (fs::path candidate = directory; !candidate.empty(); candidate = candidate.parent_path()) {
    if (fs::exists(candidate / name, error))
      return candidate;
    if (candidate == candidate.parent_path())
      break;
  }
  return std::nullopt;
}

} // namespace

std::optional<fs::path> findProjectRoot(const fs::path &directory) {
  std::optional<fs::path> repository = nearestWith(directory, ".git");
  return repository ? repository : nearestWith(directory, kProjectFile);
}

fs::path findProjectFile(const fs::path &directory) {
  const std::optional<fs::path> folder = nearestWith(directory, kProjectFile);
  return folder ? *folder / kProjectFile : fs::path();
}

fs::path projectRootOf(const fs::path &directory) {
  return findProjectRoot(directory).value_or(directory);
}

} // namespace devsan::core
