#include "core/source_lines.h"

#include "core/source_text.h"

#include <filesystem>
#include <fstream>

namespace devsan::core {
namespace {

std::vector<std::string> readLines(const std::string &file) {
  std::vector<std::string> lines;
  std::error_code error;
  // A name from a report may be a device or a pipe, which must not be opened.
  if (!std::filesystem::is_regular_file(file, error) ||
      std::filesystem::file_size(file, error) > kMaxSourceSize)
    return lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(std::move(line));
  return lines;
}

} // namespace

std::optional<std::string> SourceLines::line(const std::string &file, unsigned number) {
  if (file.empty() || number == 0)
    return std::nullopt;
  auto known = files_.find(file);
  if (known == files_.end())
    known =
        files_.emplace(file, liesBelow(file, below_) ? readLines(file) : std::vector<std::string>())
            .first;
  if (number > known->second.size())
    return std::nullopt;
  return known->second[number - 1];
}

} // namespace devsan::core
