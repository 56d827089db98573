#include "core/project/suppressions.h"

#include "core/finding/rule_table.h"
#include "core/project/project_file.h"
#include "core/system/file_glob.h"
#include "core/text/toml_text.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fnmatch.h>
#include <iterator>

namespace devsan::core {
namespace {

constexpr std::string_view kFunctionPrefix = "function:";

std::string where(const std::string &source, const toml::source_region &region) {
  return fmt::format("{}:{}", source, region.begin.line);
}

} // namespace

Result<void> Suppressions::add(const std::string &toml_text, const std::string &source,
                               const std::string &table) {
  const Result<toml::table> parsed = parseToml(toml_text, source);
  if (!parsed)
    return tl::unexpected(parsed.error());
  constexpr std::string_view kTable = "suppressions";
  const toml::table *rules = &*parsed;
  if (!table.empty() || rules->contains(kTable))
    for (const auto &[key, value] : *rules)
      if (!isProjectTable(key.str()))
        return failure(fmt::format("{}: {}", where(source, key.source()), notATable(key.str())));
  if (const toml::node *node = rules->get(table.empty() ? kTable : table)) {
    rules = node->as_table();
    if (!rules)
      return failure(fmt::format("{}: '{}' must be a table", where(source, node->source()),
                                 table.empty() ? kTable : table));
  } else if (!table.empty()) {
    return {};
  }
  std::error_code error;
  const std::string folder =
      std::filesystem::absolute(source, error).lexically_normal().parent_path().string() + "/";
  std::vector<Entry> entries; // of a malformed file nothing is used
  for (const auto &[key, value] : *rules) {
    if (!findRule(key.str()))
      return failure(
          fmt::format("{}: unknown rule {}", where(source, key.source()), notARule(key.str())));
    const auto addPattern = [&](const toml::node &node) {
      const toml::value<std::string> *pattern = node.as_string();
      if (!pattern)
        return false;
      std::string_view text = pattern->get();
      const bool on_function = text.starts_with(kFunctionPrefix);
      if (on_function)
        text.remove_prefix(kFunctionPrefix.size());
      if (text.empty() || text.find('\0') != text.npos)
        return false;
      entries.push_back({std::string(key.str()), std::string(text), on_function, folder,
                         where(source, node.source())});
      return true;
    };
    const toml::array *list = value.as_array();
    const bool good = list ? std::ranges::all_of(*list, addPattern) : addPattern(value);
    if (!good)
      return failure(fmt::format(
          "{}: '{}' must be a glob or a list of globs, such as \"src/*.cpp\" or \"function:*log*\"",
          where(source, value.source()), key.str()));
  }
  std::ranges::move(entries, std::back_inserter(entries_));
  return {};
}

bool Suppressions::covers(const Finding &finding) {
  bool covered = false;
  for (Entry &entry : entries_) {
    if (entry.rule != finding.rule)
      continue;
    const auto matchesLocation = [&](const Location &location) {
      if (entry.on_function)
        return fnmatch(entry.pattern.c_str(), location.function.c_str(), 0) == 0;
      return entry.matchesFile(location.file);
    };
    const auto isCalledFrom = [&](const std::vector<Frame> &stack) {
      return std::ranges::any_of(stack, matchesLocation, &Frame::location);
    };
    const auto matchesPlace = [&](const Location &place) {
      return matchesLocation(place) ||
             (place == finding.locations.front() && isCalledFrom(finding.stack)) ||
             std::ranges::any_of(finding.other_stacks, [&](const PlaceStack &other) {
               return other.place == place && isCalledFrom(other.stack);
             });
    };
    if (finding.locations.empty() ? isCalledFrom(finding.stack)
                                  : std::ranges::all_of(finding.locations, matchesPlace)) {
      ++entry.hits;
      covered = true;
    }
  }
  return covered;
}

bool Suppressions::coverAll(const std::string &rule, const std::string &file) const {
  return std::ranges::any_of(entries_, [&](const Entry &entry) {
    if (entry.rule != rule)
      return false;
    return entry.on_function ? entry.pattern.find_first_not_of('*') == std::string::npos
                             : entry.matchesFile(file);
  });
}

bool Suppressions::Entry::matchesFile(const std::string &file) const {
  return coversFile(pattern, file) ||
         (file.starts_with(folder) && coversFile(pattern, file.substr(folder.size())));
}

bool Suppressions::Entry::isJudgedBy(const Seen &seen) const {
  const auto holdsAll = [&](const std::string &input) {
    return folder.starts_with(input.ends_with('/') ? input : input + '/');
  };
  return std::ranges::any_of(seen.inputs, holdsAll) ||
         (!on_function && std::ranges::any_of(seen.files, [&](const std::string &file) {
           return matchesFile(file);
         }));
}

std::vector<std::string> Suppressions::unused(const std::function<bool(const Rule &)> &looked_for,
                                              const std::optional<Seen> &seen) const {
  std::vector<std::string> lines;
  for (const Entry &entry : entries_)
    if (const Rule *rule = findRule(entry.rule);
        !entry.hits && rule && looked_for(*rule) && (!seen || entry.isJudgedBy(*seen)))
      lines.push_back(fmt::format("{} = {}{} ({})", entry.rule,
                                  entry.on_function ? kFunctionPrefix : std::string_view(),
                                  entry.pattern, entry.where));
  return lines;
}

} // namespace devsan::core
