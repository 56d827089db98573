#include "core/finding/fingerprint.h"

#include "core/system/source_lines.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <unordered_map>

namespace devsan::core {
namespace {

// FNV-1a: the value is stored in baselines, so it must not depend on the standard library's
// std::hash.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (unsigned char c : text) {
    value ^= c;
    value *= 0x100000001b3;
  }
  return value;
}

std::string withoutSpace(std::string line) {
  std::erase_if(line, [](unsigned char c) { return std::isspace(c); });
  return line;
}

bool isPython(std::string_view file) {
  return file.ends_with(".py");
}

// The index after the string that begins at `at`; that of its quote where the line does not end it,
// or where it is none: a separator of digits.
std::size_t endOfString(std::string_view line, std::size_t at, bool is_python) {
  const auto is_digit = [](unsigned char c) { return std::isxdigit(c); };
  if (!is_python && line[at] == '\'' && at > 0 && is_digit(line[at - 1]) && at + 1 < line.size() &&
      is_digit(line[at + 1]))
    return at + 1;
  for (std::size_t i = at + 1; i < line.size(); ++i) {
    if (line[i] == line[at])
      return i + 1;
    if (line[i] == '\\')
      ++i;
  }
  return line.size();
}

// Where the comment at the end of the line begins: what people write there is no part of what was
// found.
std::size_t endOfCode(std::string_view line, bool is_python) {
  for (std::size_t i = 0; i < line.size();) {
    const std::string_view rest = line.substr(i);
    if (rest[0] == '"' || rest[0] == '\'') {
      i = endOfString(line, i, is_python);
    } else if (is_python ? rest[0] == '#' : rest.starts_with("//")) {
      return i;
    } else if (!is_python && rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      if (end == rest.npos || withoutSpace(std::string(rest.substr(end + 2))).empty())
        return i;
      i += end + 2;
    } else {
      ++i;
    }
  }
  return line.size();
}

std::string codeOf(std::string line, std::string_view file) {
  const std::size_t end = endOfCode(line, isPython(file));
  if (line.find_first_not_of(" \t") < end)
    line.resize(end);
  return line;
}

} // namespace

void assignFingerprints(std::span<Finding> findings) {
  SourceLines lines;
  std::unordered_map<std::string, unsigned> seen;
  for (Finding &finding : findings) {
    const Location location = finding.locations.empty() ? Location{} : finding.locations.front();
    finding.statement =
        codeOf(lines.line(location.file, location.line).value_or(""), location.file);
    std::string key = fmt::format("{}\n{}\n{}\n{}", finding.rule, location.file, location.function,
                                  withoutSpace(finding.statement));
    const unsigned ordinal = seen[key]++;
    finding.fingerprint = fmt::format("{:016x}", hash(fmt::format("{}\n{}", key, ordinal)));
  }
}

} // namespace devsan::core
