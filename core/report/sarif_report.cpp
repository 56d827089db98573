#include "core/finding/rule_table.h"
#include "core/report/reports.h"
#include "core/system/source_text.h"
#include "core/text/json_fields.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace devsan::core {
namespace {

namespace fs = std::filesystem;

// SARIF 2.1.0, as code scanning services read it. Columns count code points: the ones of findings
// count bytes.
class Sarif {
public:
  Sarif(std::span<const Finding> findings, const Summary &summary)
      : findings_(findings), summary_(summary), texts_(summary.sources_below) {}

  Json log() {
    for (const Finding &finding : findings_)
      rule_index_.try_emplace(finding.rule, 0);
    Json rules = Json::array();
    for (auto &[id, index] : rule_index_) {
      index = rules.size();
      rules.push_back(rule(id));
    }
    Json results = Json::array();
    for (const Finding &finding : findings_)
      results.push_back(result(finding));
    Json notifications = Json::array();
    for (const std::string &note : summary_.notes)
      notifications.push_back(notification(note));
    for (const std::string &unused : summary_.unused_suppressions)
      notifications.push_back(notification("suppression never used: " + unused));
    for (const std::string &gone : summary_.stale_baseline)
      notifications.push_back(notification("in the baseline, and not found any more: " + gone));
    const Json run = {{"tool",
                       {{"driver",
                         {{"name", "DevSan"},
                          {"version", DEVSAN_VERSION},
                          {"semanticVersion", DEVSAN_VERSION},
                          {"rules", std::move(rules)}}}}},
                      {"invocations",
                       {{{"executionSuccessful", true},
                         {"toolExecutionNotifications", std::move(notifications)}}}},
                      {"columnKind", "unicodeCodePoints"},
                      {"results", std::move(results)},
                      {"properties",
                       {{"command", summary_.tool},
                        {"subject", summary_.subject},
                        {"verdict", verdictText(summary_.verdict)},
                        {"suppressed", summary_.suppressed},
                        {"partial", summary_.partial}}}};
    return {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                        "sarif-schema-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", Json::array({run})}};
  }

private:
  static Json message(const std::string &text) { return {{"text", text}}; }

  static Json notification(const std::string &text) {
    return {{"level", "note"}, {"message", message(text)}};
  }

  static Json rule(const std::string &id) {
    Json json = {{"id", id}};
    const Rule *known = findRule(id);
    if (!known)
      return json;
    json["shortDescription"] = message(std::string(known->summary));
    json["help"] = {{"text", std::string(known->remedy)}, {"markdown", std::string(known->page)}};
    json["defaultConfiguration"] = {{"level", name(known->severity)}};
    json["properties"] = {{"tags", {"device", "correctness"}}};
    return json;
  }

  // A relative path is relative to the repository, whatever its folder is called there.
  static Json artifact(const std::string &file) {
    const bool is_absolute = file.starts_with('/');
    std::string uri = is_absolute ? "file://" : "";
    for (const unsigned char c : file) {
      if (std::isalnum(c) ||
          std::string_view("/-._~").find(static_cast<char>(c)) != std::string_view::npos)
        uri += static_cast<char>(c);
      else
        uri += fmt::format("%{:02X}", c);
    }
    Json json = {{"uri", uri}};
    if (!is_absolute)
      json["uriBaseId"] = "%SRCROOT%";
    return json;
  }

  Json region(const Location &place) {
    Json json = {{"startLine", place.line}};
    if (place.column)
      json["startColumn"] = texts_.characters(place.file, place.line, place.column);
    if (const std::optional<std::string> line = texts_.line(place.file, place.line))
      json["snippet"] = message(*line);
    return json;
  }

  Json location(const Location &place) {
    Json json = Json::object();
    if (!place.file.empty()) {
      Json physical = {{"artifactLocation", artifact(place.file)}};
      if (place.line)
        physical["region"] = region(place);
      json["physicalLocation"] = std::move(physical);
    }
    if (!place.function.empty())
      json["logicalLocations"] = {{{"fullyQualifiedName", place.function}, {"kind", "function"}}};
    return json;
  }

  Json related(const Related &other) {
    Json json = location(other.location);
    json["message"] = message(other.message);
    return json;
  }

  Json stack(const Finding &finding) {
    Json frames = Json::array();
    for (const Frame &frame : finding.stack) {
      Json json = {{"location", location(frame.location)}};
      if (!frame.module.empty())
        json["module"] = frame.module;
      frames.push_back(std::move(json));
    }
    return {{"frames", std::move(frames)}};
  }

  // Nothing where the file is not there to tell lines from bytes: then the fix is left out.
  std::optional<Json> fix(const Finding &finding) {
    std::map<std::string, Json> by_file;
    for (const Replacement &replacement : finding.fix) {
      const auto begin = texts_.position(replacement.file, replacement.offset);
      const auto end = texts_.position(replacement.file, replacement.offset + replacement.length);
      if (!begin || !end)
        return std::nullopt;
      Json &list = by_file.try_emplace(replacement.file, Json::array()).first->second;
      list.push_back({{"deletedRegion",
                       {{"startLine", begin->line},
                        {"startColumn", begin->column},
                        {"endLine", end->line},
                        {"endColumn", end->column}}},
                      {"insertedContent", message(replacement.text)}});
    }
    Json changes = Json::array();
    for (auto &[file, replacements] : by_file)
      changes.push_back({{"artifactLocation", artifact(file)}, {"replacements", replacements}});
    std::string description = remedyOf(finding);
    if (!finding.caution.empty())
      description += "; " + finding.caution;
    return Json{{"description", message(description)}, {"artifactChanges", std::move(changes)}};
  }

  Json result(const Finding &finding) {
    const Rule *rule = findRule(finding.rule);
    std::string remedy = remedyOf(finding); // the rule holds its own
    if (rule && remedy == rule->remedy)
      remedy.clear();
    Json json = {
        {"ruleId", finding.rule},
        {"ruleIndex", rule_index_.at(finding.rule)},
        {"level", name(finding.severity)},
        {"message", message(remedy.empty() ? finding.message : finding.message + "; " + remedy)},
        {"locations", Json::array()}};
    for (const Location &place : finding.locations)
      json["locations"].push_back(location(place));
    if (!finding.related.empty()) {
      json["relatedLocations"] = Json::array();
      for (const Related &other : finding.related)
        json["relatedLocations"].push_back(related(other));
    }
    if (!finding.stack.empty())
      json["stacks"] = Json::array({stack(finding)});
    if (!finding.fingerprint.empty())
      json["partialFingerprints"] = {{"devsan/v1", finding.fingerprint}};
    if (finding.known)
      json["baselineState"] = "unchanged";
    if (finding.count > 1)
      json["occurrenceCount"] =
          std::min<std::uint64_t>(finding.count, std::numeric_limits<std::int32_t>::max());
    if (!finding.fix.empty())
      if (std::optional<Json> change = fix(finding))
        json["fixes"] = Json::array({std::move(*change)});
    json["properties"] = {{"origin", name(finding.origin)}};
    for (const auto &[key, value] : {std::pair("from", finding.from), std::pair("to", finding.to),
                                     std::pair("op", finding.op)})
      if (!value.empty())
        json["properties"][key] = value;
    if (finding.bytes)
      json["properties"]["bytes"] = finding.bytes;
    if (finding.blocked_ns)
      json["properties"]["blocked_ns"] = finding.blocked_ns;
    return json;
  }

  std::span<const Finding> findings_;
  const Summary &summary_;
  std::map<std::string, std::size_t> rule_index_;
  SourceText texts_;
};

} // namespace

std::string sarifReport(std::span<const Finding> findings, const Summary &summary) {
  return Sarif(findings, summary).log().dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace devsan::core
