#include "command/install/files.h"
#include "core/system/whole_file.h"

#include <fmt/format.h>

namespace devsan::command {

namespace fs = std::filesystem;

std::optional<std::string> contents(const fs::path &path) {
  core::Result<std::string> text = core::readFile(path, core::kMaxReport);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

std::vector<fs::path> filesBelow(const fs::path &folder, const std::string &extension) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
    if (entry->path().extension() == extension)
      files.push_back(entry->path());
  return files;
}

std::string Hash::text() const {
  return fmt::format("{:016x}", value_);
}

} // namespace devsan::command
