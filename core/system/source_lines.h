// Lines of the user's source files, read once per file and kept; used by whoever shows or
// fingerprints them. Not for use from several threads at once.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace devsan::core {

class SourceLines {
public:
  // `below`: a folder; files elsewhere count as unreadable. Empty: none do.
  explicit SourceLines(std::string below = {}) : below_(std::move(below)) {}

  // `number` is 1-based. Nothing where the file cannot be read, is no regular file, or is shorter.
  std::optional<std::string> line(const std::string &file, unsigned number);

private:
  std::string below_;
  std::unordered_map<std::string, std::vector<std::string>> files_;
};

} // namespace devsan::core
