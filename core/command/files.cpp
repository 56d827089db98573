#include "core/command/files.h"
#include "core/whole_file.h"

#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace devsan::command {

namespace fs = std::filesystem;

std::optional<std::string> contents(const fs::path &path) {
  core::Result<std::string> text = core::readFile(path, core::kMostReport);
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

bool isExecutable(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

fs::path findProgram(const std::string &name) {
  if (name.find('/') != std::string::npos)
    return isExecutable(name) ? fs::path(name) : fs::path();
  const char *path = std::getenv("PATH");
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string directory = rest.substr(0, colon);
    if (!directory.empty() && isExecutable(fs::path(directory) / name))
      return fs::path(directory) / name;
    rest.erase(0, colon == std::string::npos ? rest.size() : colon + 1);
  }
  return {};
}

std::string Hash::text() const {
  return fmt::format("{:016x}", value_);
}

} // namespace devsan::command
