#include "runtime/offline/source_paths.h"

namespace devsan::runtime {
namespace fs = std::filesystem;

fs::path repositoryOf(const fs::path &directory) {
  std::error_code error;
  for (fs::path candidate = directory; !candidate.empty(); candidate = candidate.parent_path()) {
    if (fs::exists(candidate / ".git", error))
      return candidate;
    if (candidate == candidate.parent_path())
      break;
  }
  return {};
}

SourcePaths::SourcePaths(const fs::path &working_directory) {
  std::error_code error;
  working_directory_ = fs::weakly_canonical(working_directory, error);
  repository_ = repositoryOf(working_directory_);
}

const std::string &SourcePaths::shown(const std::string &path) {
  auto [entry, added] = known_.try_emplace(path, path);
  // "<string>" and the like are no files.
  if (!added || path.empty() || path.front() == '<')
    return entry->second;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(working_directory_ / path, error);
  if (error)
    return entry->second;
  entry->second = whole;
  if (!repository_.empty()) {
    const fs::path relative = whole.lexically_relative(repository_);
    if (!relative.empty() && *relative.begin() != "..")
      entry->second = relative;
  }
  return entry->second;
}

} // namespace devsan::runtime
