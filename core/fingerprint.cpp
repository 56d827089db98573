#include "core/fingerprint.h"

#include "core/source_lines.h"

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

} // namespace

void assignFingerprints(std::span<Finding> findings) {
  SourceLines lines;
  std::unordered_map<std::string, unsigned> seen;
  for (Finding &finding : findings) {
    const Location location = finding.locations.empty() ? Location{} : finding.locations.front();
    finding.statement = lines.line(location.file, location.line).value_or("");
    std::string key = fmt::format("{}\n{}\n{}\n{}", finding.rule, location.file, location.function,
                                  withoutSpace(finding.statement));
    const unsigned ordinal = seen[key]++;
    finding.fingerprint = fmt::format("{:016x}", hash(fmt::format("{}\n{}", key, ordinal)));
  }
}

} // namespace devsan::core
