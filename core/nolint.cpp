#include "core/nolint.h"

#include <fnmatch.h>
#include <string_view>

namespace devsan::core {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// Whether `line` holds `marker`(…, rule or a glob of it, …).
bool names(std::string_view line, std::string_view marker, const std::string &rule) {
  for (std::size_t at = line.find(marker); at != line.npos; at = line.find(marker, at + 1)) {
    std::string_view list = line.substr(at + marker.size());
    if (!list.starts_with('('))
      continue;
    list = list.substr(1, list.find(')') - 1);
    while (!list.empty()) {
      const std::size_t comma = list.find(',');
      const std::string glob(trimmed(list.substr(0, comma)));
      if (fnmatch(glob.c_str(), rule.c_str(), 0) == 0)
        return true;
      list = comma == list.npos ? std::string_view() : list.substr(comma + 1);
    }
  }
  return false;
}

} // namespace

bool hasNolint(const Finding &finding, SourceLines &lines) {
  if (finding.locations.empty())
    return false;
  const Location &place = finding.locations.front();
  const auto line = lines.line(place.file, place.line);
  if (line && names(*line, "NOLINT", finding.rule))
    return true;
  const auto above = place.line > 1 ? lines.line(place.file, place.line - 1) : std::nullopt;
  return above && names(*above, "NOLINTNEXTLINE", finding.rule);
}

} // namespace devsan::core
