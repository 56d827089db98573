#include "core/reports.h"
#include "core/rule_table.h"

#include <nlohmann/json.hpp>

namespace devsan::core {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "devsan/1";

Json toJson(const Location &location) {
  return {{"file", location.file},
          {"line", location.line},
          {"column", location.column},
          {"function", location.function}};
}

Json toJson(const Frame &frame) {
  Json json = toJson(frame.location);
  json["module"] = frame.module;
  json["user"] = frame.user;
  return json;
}

Json toJson(const Related &related) {
  Json json = toJson(related.location);
  json["message"] = related.message;
  return json;
}

Json toJson(const Replacement &replacement) {
  return {{"file", replacement.file},
          {"offset", replacement.offset},
          {"length", replacement.length},
          {"text", replacement.text}};
}

template <typename T> Json toJson(const std::vector<T> &values) {
  Json array = Json::array();
  for (const T &value : values)
    array.push_back(toJson(value));
  return array;
}

std::string remedyOf(const Finding &finding) {
  const Rule *rule = findRule(finding.rule);
  return finding.remedy.empty() && rule ? std::string(rule->remedy) : finding.remedy;
}

Json toJson(const Finding &finding) {
  return {{"rule", finding.rule},
          {"severity", name(finding.severity)},
          {"origin", name(finding.origin)},
          {"message", finding.message},
          {"remedy", remedyOf(finding)},
          {"fingerprint", finding.fingerprint},
          {"count", finding.count},
          {"bytes", finding.bytes},
          {"blocked_ns", finding.blocked_ns},
          {"from", finding.from},
          {"to", finding.to},
          {"op", finding.op},
          {"thread", finding.thread},
          {"rank", finding.rank ? Json(*finding.rank) : Json(nullptr)},
          {"locations", toJson(finding.locations)},
          {"stack", toJson(finding.stack)},
          {"related", toJson(finding.related)},
          {"fix", toJson(finding.fix)}};
}

// Reading: `json.value` throws on a wrong type, and core has no exceptions, so every access asks
// for the type first. A field that is absent keeps its default; one of another type makes the
// report malformed.
class Reader {
public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  void get(const Json &json, const char *key, std::string &out) {
    if (const Json *field = find(json, key, &Json::is_string, "a string"))
      out = field->get<std::string>();
  }
  void get(const Json &json, const char *key, bool &out) {
    if (const Json *field = find(json, key, &Json::is_boolean, "true or false"))
      out = field->get<bool>();
  }
  template <typename Unsigned> void get(const Json &json, const char *key, Unsigned &out) {
    if (const Json *field = find(json, key, &Json::is_number_unsigned, "a number from 0"))
      out = field->get<Unsigned>();
  }
  void get(const Json &json, Location &out) {
    get(json, "file", out.file);
    get(json, "line", out.line);
    get(json, "column", out.column);
    get(json, "function", out.function);
  }
  void get(const Json &json, Frame &out) {
    get(json, out.location);
    get(json, "module", out.module);
    get(json, "user", out.user);
  }
  void get(const Json &json, Related &out) {
    get(json, out.location);
    get(json, "message", out.message);
  }
  void get(const Json &json, Replacement &out) {
    get(json, "file", out.file);
    get(json, "offset", out.offset);
    get(json, "length", out.length);
    get(json, "text", out.text);
  }
  template <typename T> void get(const Json &json, const char *key, std::vector<T> &out) {
    const Json *array = find(json, key, &Json::is_array, "a list");
    if (!array)
      return;
    for (const Json &element : *array) {
      if (!element.is_object())
        return fail(key, "a list of objects");
      get(element, out.emplace_back());
    }
  }
  void get(const Json &json, Finding &out) {
    get(json, "rule", out.rule);
    std::string severity = "warning";
    get(json, "severity", severity);
    if (auto parsed = parseSeverity(severity))
      out.severity = *parsed;
    else
      fail("severity", "note, warning or error");
    std::string origin = "static";
    get(json, "origin", origin);
    out.origin = origin == name(Origin::kRuntime) ? Origin::kRuntime : Origin::kStatic;
    if (origin != name(out.origin))
      fail("origin", "static or runtime");
    get(json, "message", out.message);
    get(json, "remedy", out.remedy);
    get(json, "fingerprint", out.fingerprint);
    get(json, "count", out.count);
    get(json, "bytes", out.bytes);
    get(json, "blocked_ns", out.blocked_ns);
    get(json, "from", out.from);
    get(json, "to", out.to);
    get(json, "op", out.op);
    get(json, "thread", out.thread);
    if (auto rank = json.find("rank"); rank != json.end() && !rank->is_null()) {
      if (rank->is_number_integer())
        out.rank = rank->get<int>();
      else
        fail("rank", "a number or null");
    }
    get(json, "locations", out.locations);
    get(json, "stack", out.stack);
    get(json, "related", out.related);
    get(json, "fix", out.fix);
  }

  const std::optional<std::string> &error() const { return error_; }

private:
  const Json *find(const Json &json, const char *key, bool (Json::*is)() const noexcept,
                   const char *wanted) {
    auto field = json.find(key);
    if (field == json.end())
      return nullptr;
    if (!((*field).*is)()) {
      fail(key, wanted);
      return nullptr;
    }
    return &*field;
  }
  void fail(const char *key, const char *wanted) {
    if (!error_)
      error_ = path_ + ": '" + key + "' must be " + wanted;
  }

  std::string path_;
  std::optional<std::string> error_;
};

} // namespace

std::string jsonReport(std::span<const Finding> findings, const Summary &summary) {
  Json list = Json::array();
  for (const Finding &finding : findings)
    list.push_back(toJson(finding));
  const Json report = {{"schema", kSchema},
                       {"findings", std::move(list)},
                       {"summary",
                        {{"tool", summary.tool},
                         {"version", DEVSAN_VERSION},
                         {"subject", summary.subject},
                         {"findings", findings.size()},
                         {"suppressed", summary.suppressed},
                         {"unused_suppressions", summary.unused_suppressions},
                         {"notes", summary.notes}}}};
  // Text of the program under test need not be UTF-8.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<Finding>> readJsonReport(const std::string &text, const std::string &source) {
  const Json report = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (report.is_discarded() || !report.is_object())
    return failure(source + ": not a JSON report of devsan, or cut off");
  const auto schema = report.find("schema");
  if (schema == report.end() || *schema != kSchema)
    return failure(source + ": schema " + (schema == report.end() ? "is missing" : schema->dump()) +
                   "; this devsan reads \"" + std::string(kSchema) + "\"");
  Reader reader(source);
  std::vector<Finding> findings;
  reader.get(report, "findings", findings);
  if (reader.error())
    return failure(*reader.error());
  return findings;
}

} // namespace devsan::core
