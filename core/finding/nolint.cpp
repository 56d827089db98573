#include "core/finding/nolint.h"
#include "core/finding/rule_table.h"

#include <algorithm>
#include <fmt/format.h>
#include <fnmatch.h>
#include <iterator>
#include <string_view>

namespace devsan::core {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// What stands in `marker`(…, …) on the line.
std::vector<std::string> namesIn(std::string_view line, std::string_view marker) {
  std::vector<std::string> names;
  for (std::size_t at = line.find(marker); at != line.npos; at = line.find(marker, at + 1)) {
    std::string_view list = line.substr(at + marker.size());
    if (!list.starts_with('('))
      continue;
    list = list.substr(1, list.find(')') - 1);
    while (!list.empty()) {
      const std::size_t comma = list.find(',');
      names.emplace_back(trimmed(list.substr(0, comma)));
      list = comma == list.npos ? std::string_view() : list.substr(comma + 1);
    }
  }
  return names;
}

// Of the line and of the one above it.
std::vector<std::string> namesAt(const Location &place, SourceLines &lines) {
  std::vector<std::string> names;
  if (const auto line = lines.line(place.file, place.line))
    names = namesIn(*line, "NOLINT");
  if (place.line > 1)
    if (const auto above = lines.line(place.file, place.line - 1))
      std::ranges::move(namesIn(*above, "NOLINTNEXTLINE"), std::back_inserter(names));
  return names;
}

bool covers(const std::string &glob, std::string_view rule) {
  return fnmatch(glob.c_str(), std::string(rule).c_str(), 0) == 0;
}

// A name of this tool's, or meant as one, that stands for no rule. Others are other tools'.
bool isUnknownRule(const std::string &name, std::span<const std::string> rules) {
  return std::ranges::none_of(rules, [&](const auto &rule) { return covers(name, rule); }) &&
         (name.starts_with("device-") || !didYouMeanRule(name, rules).empty());
}

} // namespace

bool hasNolint(const Finding &finding, SourceLines &lines) {
  const auto is_silenced = [&](const Location &place) {
    return std::ranges::any_of(namesAt(place, lines),
                               [&](const auto &name) { return covers(name, finding.rule); });
  };
  return !finding.locations.empty() && std::ranges::all_of(finding.locations, is_silenced);
}

std::vector<std::string> mistakenNolints(std::span<const Finding> findings, SourceLines &lines) {
  std::vector<std::string> rules;
  for (const Rule &rule : allRules())
    rules.emplace_back(rule.id);
  std::vector<std::string> sentences;
  for (const Finding &finding : findings)
    for (const Location &place : finding.locations)
      for (const std::string &name : namesAt(place, lines))
        if (isUnknownRule(name, rules))
          sentences.push_back(fmt::format("{}:{}: NOLINT({}) silences nothing, there is no such "
                                          "rule{}",
                                          place.file, place.line, name,
                                          didYouMeanRule(name, rules)));
  std::ranges::sort(sentences);
  sentences.erase(std::ranges::unique(sentences).begin(), sentences.end());
  return sentences;
}

} // namespace devsan::core
