#include "core/system/source_lines.h"

#include "core/system/source_text.h"
#include "core/system/whole_file.h"

#include <sstream>

namespace devsan::core {
namespace {

std::vector<std::string> readLines(const std::string &file) {
  std::vector<std::string> lines;
  Result<std::string> text = readFile(file, kMaxSource);
  if (!text)
    return lines;
  std::istringstream stream(std::move(*text));
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r'))
      line.pop_back();
    lines.push_back(std::move(line));
  }
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
