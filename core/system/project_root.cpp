#include "core/system/project_root.h"

#include <algorithm>
#include <cstdlib>

namespace devsan::core {
namespace fs = std::filesystem;

namespace {

fs::path set_root;

constexpr const char *kProjectFile = ".devsan.toml";

bool holds(const fs::path &folder, const char *name) {
  std::error_code error;
  return fs::exists(folder / name, error);
}

bool isRepository(const fs::path &folder) {
  return holds(folder, ".git") || holds(folder, ".hg") || holds(folder, ".jj");
}

bool hasProjectFile(const fs::path &folder) {
  return holds(folder, kProjectFile);
}

std::optional<fs::path> nearest(const fs::path &directory, bool (*is_it)(const fs::path &)) {
  for (fs::path candidate = directory; !candidate.empty(); candidate = candidate.parent_path()) {
    if (is_it(candidate))
      return candidate;
    if (candidate == candidate.parent_path() || candidate == set_root)
      break;
  }
  return std::nullopt;
}

} // namespace

bool holdsManyProjects(const fs::path &folder) {
  std::error_code error;
  if (folder == folder.root_path() ||
      (fs::status(folder, error).permissions() & fs::perms::sticky_bit) != fs::perms::none)
    return true;
  const char *home = std::getenv("HOME");
  return home && *home == '/' && isWithin(fs::weakly_canonical(home, error), folder);
}

void setProjectRoot(const fs::path &folder) {
  set_root = folder;
}

const fs::path &setRoot() {
  return set_root;
}

std::optional<fs::path> findProjectRoot(const fs::path &directory) {
  if (!set_root.empty() && isWithin(directory.lexically_normal(), set_root))
    return set_root;
  std::optional<fs::path> repository = nearest(directory, isRepository);
  return repository ? repository : nearest(directory, hasProjectFile);
}

std::optional<fs::path> projectAround(const fs::path &folder) {
  if (std::optional<fs::path> root = findProjectRoot(folder))
    return root;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return !error && isWithin(folder, here) && !holdsManyProjects(here) ? std::optional(here)
                                                                      : std::nullopt;
}

bool isWithin(const fs::path &path, const fs::path &folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

fs::path findProjectFile(const fs::path &directory) {
  const std::optional<fs::path> folder = nearest(directory, [](const fs::path &candidate) {
    return hasProjectFile(candidate) || isRepository(candidate);
  });
  return folder && hasProjectFile(*folder) ? *folder / kProjectFile : fs::path();
}

fs::path projectRootOf(const fs::path &directory) {
  return findProjectRoot(directory).value_or(directory);
}

} // namespace devsan::core
