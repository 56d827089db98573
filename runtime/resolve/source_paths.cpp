#include "runtime/resolve/source_paths.h"

#include "core/system/project_root.h"

namespace devsan::runtime {
namespace fs = std::filesystem;

SourcePaths::SourcePaths(const fs::path &working_directory) {
  std::error_code error;
  working_directory_ = fs::weakly_canonical(working_directory, error);
  root_ = core::projectRootOf(working_directory_);
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
  const fs::path relative = whole.lexically_relative(root_);
  const bool is_everything = root_ == root_.root_path();
  if (!is_everything && !relative.empty() && *relative.begin() != "..")
    entry->second = relative;
  return entry->second;
}

} // namespace devsan::runtime
