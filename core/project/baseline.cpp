#include "core/project/baseline.h"
#include "core/text/json_fields.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace devsan::core {
namespace {

constexpr std::string_view kBaselineSchema = "devsan-baseline/1";

constexpr std::size_t kMaxShown = 120;

// Without its indent: it is read in a line of the file.
std::string shown(const std::string &statement) {
  const std::size_t begin = statement.find_first_not_of(" \t");
  if (begin == std::string::npos)
    return {};
  const std::size_t end = statement.find_last_not_of(" \t\r") + 1;
  return end - begin > kMaxShown ? statement.substr(begin, kMaxShown) + " …"
                                 : statement.substr(begin, end - begin);
}

std::string quoted(const std::string &text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

Baseline::Entry Baseline::entryOf(const Finding &finding) {
  const Location place = finding.locations.empty() ? Location{} : finding.locations.front();
  return {finding.severity, finding.origin,           place.file,
          place.function,   shown(finding.statement), true};
}

Result<Baseline> Baseline::parse(std::string_view text, const std::string &source) {
  Baseline baseline;
  JsonFile file{source, kBaselineSchema, "a baseline of devsan"};
  file.finding = [&](JsonFields &fields) {
    Key key;
    fields.require("rule", key.first);
    fields.require("fingerprint", key.second);
    Entry entry;
    std::string severity, origin;
    fields.require("severity", severity);
    if (auto parsed = parseSeverity(severity))
      entry.severity = *parsed;
    else
      fields.fail("severity", "note, warning or error");
    fields.require("origin", origin);
    entry.origin = origin == name(Origin::kStatic) ? Origin::kStatic : Origin::kRuntime;
    if (origin != name(entry.origin))
      fields.fail("origin", "static or runtime");
    fields.get("file", entry.file);
    fields.get("function", entry.function);
    fields.get("statement", entry.statement);
    baseline.entries_.insert_or_assign(std::move(key), std::move(entry));
  };
  if (Result<void> done = readJsonFile(text, file); !done)
    return failure(done.error().message + "; `--baseline=FILE --update-baseline` writes one");
  return baseline;
}

void Baseline::apply(std::span<Finding> findings) {
  for (Finding &finding : findings) {
    const auto entry = entries_.find({finding.rule, finding.fingerprint});
    finding.known = entry != entries_.end() && entry->second.origin == finding.origin &&
                    finding.severity <= entry->second.severity;
    if (entry != entries_.end())
      entry->second.found = true;
    apply(finding.predicted);
  }
}

bool everything(const std::string &, const std::string &) {
  return true;
}

bool nothing(const std::string &, const std::string &) {
  return false;
}

std::vector<std::string> Baseline::stale(Origin origin, const IsAnalyzed &looked_at) const {
  std::vector<std::pair<const Key *, const Entry *>> gone;
  for (const auto &[key, entry] : entries_)
    if (!entry.found && entry.origin == origin && looked_at(key.first, entry.file))
      gone.emplace_back(&key, &entry);
  std::ranges::sort(gone, {}, [](const auto &item) {
    return std::tie(item.second->file, item.second->function, item.second->statement, *item.first);
  });
  std::vector<std::string> lines;
  for (const auto &[key, entry] : gone)
    lines.push_back(
        fmt::format("{} in {}{}{} ({})", key->first, entry->file.empty() ? "no file" : entry->file,
                    entry->function.empty() ? "" : ", function " + entry->function,
                    entry->statement.empty() ? "" : ": " + entry->statement, key->second));
  return lines;
}

void Baseline::update(std::span<const Finding> findings, Origin origin,
                      const IsAnalyzed &looked_at) {
  const std::map<Key, Entry> before = entries_;
  std::erase_if(entries_, [&](const auto &item) {
    return item.second.origin == origin && looked_at(item.first.first, item.second.file);
  });
  std::vector<const Finding *> all;
  for (const Finding &finding : findings) {
    all.push_back(&finding);
    for (const Finding &predicted : finding.predicted)
      all.push_back(&predicted);
  }
  for (const Finding *one : all)
    if (const Finding &finding = *one; finding.origin == origin) {
      const Key key{finding.rule, finding.fingerprint};
      Entry entry = entryOf(finding);
      // A finding that comes from a report has none.
      if (const auto known = before.find(key); known != before.end() && entry.statement.empty())
        entry.statement = known->second.statement;
      entries_.insert_or_assign(key, std::move(entry));
    }
}

std::string Baseline::text() const {
  std::vector<std::pair<const Key *, const Entry *>> sorted;
  for (const auto &[key, entry] : entries_)
    sorted.emplace_back(&key, &entry);
  std::ranges::sort(sorted, {}, [](const auto &item) {
    return std::tie(item.second->file, item.first->first, item.second->function,
                    item.first->second);
  });
  std::string text = fmt::format("{{\"schema\": \"{}\", \"findings\": [", kBaselineSchema);
  const char *separator = "\n";
  for (const auto &[key, entry] : sorted) {
    text += fmt::format("{}  {{\"rule\": {}, \"severity\": \"{}\", \"origin\": \"{}\", "
                        "\"fingerprint\": {}, \"file\": {}, \"function\": {}, \"statement\": {}}}",
                        separator, quoted(key->first), name(entry->severity), name(entry->origin),
                        quoted(key->second), quoted(entry->file), quoted(entry->function),
                        quoted(entry->statement));
    separator = ",\n";
  }
  return text + (sorted.empty() ? "]}\n" : "\n]}\n");
}

} // namespace devsan::core
