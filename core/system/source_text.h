// Places in source files as people and editors count them: lines and characters instead of bytes.
// Files are read once and kept. Not for use from several threads at once.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

namespace devsan::core {

// Whatever links lead there. `folder`: empty holds all.
bool liesBelow(const std::string &file, const std::string &folder);

class SourceText {
public:
  // `below`: a folder; files elsewhere count as unreadable. Empty: none do.
  explicit SourceText(std::string below = {}) : below_(std::move(below)) {}

  struct Position {
    unsigned line = 1;   // from 1
    unsigned column = 1; // from 1, in code points
  };

  // Of the byte at `offset`, or of the end. Nothing where the file cannot be read or is shorter.
  std::optional<Position> position(const std::string &file, unsigned offset);

  // `column`, which counts bytes from 1, in code points; unchanged where the line cannot be read.
  unsigned characters(const std::string &file, unsigned line, unsigned column);

  std::optional<std::string> line(const std::string &file, unsigned number);

private:
  std::string below_;
  const std::string *text(const std::string &file);

  std::unordered_map<std::string, std::optional<std::string>> files_;
};

} // namespace devsan::core
