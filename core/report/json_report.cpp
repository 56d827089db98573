#include "core/finding/rule_table.h"
#include "core/report/reports.h"
#include "core/text/json_fields.h"

#include <sstream>

namespace devsan::core {
namespace {

constexpr std::string_view kReportSchema = "devsan/1";

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
  json["own"] = frame.own;
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

Json toJson(const std::optional<int> &rank) {
  return rank ? Json(*rank) : Json(nullptr);
}

Json toJson(const RankShare &share) {
  return {{"rank", toJson(share.rank)}, {"worker", share.worker}, {"processes", share.processes},
          {"count", share.count},       {"bytes", share.bytes},   {"blocked_ns", share.blocked_ns}};
}

Json toJson(const Steps &steps) {
  return {{"total", steps.total},
          {"seen", steps.seen},
          {"first", steps.first},
          {"last", steps.last},
          {"most", steps.most}};
}

Json toJson(const StepLoad &load) {
  return {
      {"process", load.process}, {"first", load.first}, {"last", load.last}, {"most", load.most}};
}

template <typename T> Json toJson(const std::vector<T> &values) {
  Json array = Json::array();
  for (const T &value : values)
    array.push_back(toJson(value));
  return array;
}

Json toJson(const std::optional<Cost> &cost) {
  if (!cost)
    return nullptr;
  Json json = {{"saves_ns", cost->saves_ns}, {"measured", cost->measured}};
  if (cost->share)
    json["share_of_run"] = *cost->share;
  if (cost->per_step_ns)
    json["saves_ns_per_step"] = *cost->per_step_ns;
  return json;
}

Json toJson(const Finding &finding, const CostBasis &basis) {
  return {{"rule", finding.rule},
          {"severity", name(finding.severity)},
          {"origin", name(finding.origin)},
          {"message", finding.message},
          {"remedy", remedyOf(finding)},
          {"cure", finding.cure},
          {"fingerprint", finding.fingerprint},
          {"known", finding.known},
          {"library", finding.library},
          {"count", finding.count},
          {"bytes", finding.bytes},
          {"blocked_ns", finding.blocked_ns},
          {"cost", toJson(costOf(finding, basis))},
          {"from", finding.from},
          {"to", finding.to},
          {"op", finding.op},
          {"waits", finding.waits},
          {"steps", toJson(finding.steps)},
          {"loads", toJson(finding.loads)},
          {"thread", finding.thread},
          {"rank", toJson(finding.rank)},
          {"ranks", toJson(finding.ranks)},
          {"locations", toJson(finding.locations)},
          {"stack", toJson(finding.stack)},
          {"related", toJson(finding.related)},
          {"fix", toJson(finding.fix)},
          {"caution", finding.caution}};
}

Json toJson(const CostBasis &basis) {
  return {{"blocked_time", basis.simulated ? "simulated" : "measured"},
          {"wall_ns", basis.wall_ns},
          {"steps", basis.steps},
          {"assumed_wait_ns", kAssumedWaitNs},
          {"assumed_bytes_per_second", kAssumedBytesPerSecond}};
}

Json toJson(const Verdict &verdict) {
  return {{"outcome", name(verdict.outcome)}, {"because", verdict.because}};
}

Json toJson(const Summary &summary, std::size_t findings) {
  return {{"verdict", toJson(summary.verdict)},
          {"tool", summary.tool},
          {"version", DEVSAN_VERSION},
          {"subject", summary.subject},
          {"findings", findings},
          {"suppressed", summary.suppressed},
          {"unused_suppressions", summary.unused_suppressions},
          {"stale_baseline", summary.stale_baseline},
          {"ranks", summary.ranks},
          {"cost", toJson(summary.basis)},
          {"partial", summary.partial},
          {"notes", summary.notes}};
}

Json toJson(const StepTimes &times) {
  Json json = {{"rank", toJson(times.rank)}, {"worker", times.worker}, {"begun_us", times.begun_us},
               {"steps", times.steps},       {"end_ns", times.end_ns}, {"columns", Json::array()}};
  for (const StepColumn &column : times.columns)
    json["columns"].push_back({{"step", column.step},
                               {"begin_ns", column.begin_ns},
                               {"longest_ns", column.longest_ns},
                               {"longest", column.longest}});
  return json;
}

// Text of the program under test need not be UTF-8.
std::string dump(const Json &json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

void write(std::ostream &out, const Json &json, std::string_view indent) {
  const std::string text = dump(json);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    if (begin)
      out << indent;
    out << std::string_view(text).substr(begin, end - begin);
    begin = end;
  }
}

void writeSummary(std::ostream &out, const Summary &summary, std::size_t findings) {
  const Json fields = toJson(summary, findings);
  out << "{";
  for (const auto &[key, value] : fields.items()) {
    out << "\n    " << Json(key).dump() << ": ";
    write(out, value, "    ");
    out << ",";
  }
  out << "\n    \"step_times\": [";
  // A line for each process.
  for (std::size_t i = 0; i < summary.step_times.size(); ++i)
    out << (i ? ",\n      " : "\n      ") << toJson(summary.step_times[i]).dump();
  out << (summary.step_times.empty() ? "]\n  }" : "\n    ]\n  }");
}

void read(JsonFields &fields, Location &out) {
  fields.get("file", out.file);
  fields.get("line", out.line);
  fields.get("column", out.column);
  fields.get("function", out.function);
}

void read(JsonFields &fields, Frame &out) {
  read(fields, out.location);
  fields.get("module", out.module);
  fields.get("user", out.user);
  out.own = out.user; // of a report that does not tell
  fields.get("own", out.own);
}

void read(JsonFields &fields, Related &out) {
  read(fields, out.location);
  fields.get("message", out.message);
}

void read(JsonFields &fields, Replacement &out) {
  fields.get("file", out.file);
  fields.get("offset", out.offset);
  fields.get("length", out.length);
  fields.get("text", out.text);
}

void read(JsonFields &fields, RankShare &out) {
  fields.get("rank", out.rank);
  fields.get("worker", out.worker);
  fields.get("processes", out.processes);
  fields.get("count", out.count);
  fields.get("bytes", out.bytes);
  fields.get("blocked_ns", out.blocked_ns);
}

void read(JsonFields &fields, Steps &out) {
  fields.get("total", out.total);
  fields.get("seen", out.seen);
  fields.get("first", out.first);
  fields.get("last", out.last);
  fields.get("most", out.most);
}

void read(JsonFields &fields, StepLoad &out) {
  fields.get("process", out.process);
  fields.get("first", out.first);
  fields.get("last", out.last);
  fields.get("most", out.most);
}

void read(JsonFields &fields, StepColumn &out) {
  fields.get("step", out.step);
  fields.get("begin_ns", out.begin_ns);
  fields.get("longest_ns", out.longest_ns);
  fields.get("longest", out.longest);
}

void read(JsonFields &fields, StepTimes &out);

template <typename T> void readList(JsonFields &fields, const char *key, std::vector<T> &out) {
  fields.forEach(key, [&](JsonFields &element) { read(element, out.emplace_back()); });
}

void read(JsonFields &fields, Finding &out) {
  fields.require("rule", out.rule);
  std::string severity(name(Severity::kWarning));
  fields.get("severity", severity);
  if (auto parsed = parseSeverity(severity))
    out.severity = *parsed;
  else
    fields.fail("severity", "note, warning or error");
  std::string origin(name(Origin::kStatic));
  fields.get("origin", origin);
  out.origin = origin == name(Origin::kRuntime) ? Origin::kRuntime : Origin::kStatic;
  if (origin != name(out.origin))
    fields.fail("origin", "static or runtime");
  fields.get("message", out.message);
  fields.get("remedy", out.remedy);
  fields.get("cure", out.cure);
  // Reports hold the remedy in either case; the finding's own is what the rule does not say.
  if (const Rule *rule = findRule(out.rule);
      rule && (out.remedy == rule->remedy || out.remedy == rule->remedy_python))
    out.remedy.clear();
  fields.get("fingerprint", out.fingerprint);
  fields.get("known", out.known);
  fields.get("library", out.library);
  fields.get("count", out.count);
  fields.get("bytes", out.bytes);
  fields.get("blocked_ns", out.blocked_ns);
  fields.get("from", out.from);
  fields.get("to", out.to);
  fields.get("op", out.op);
  fields.get("waits", out.waits);
  fields.object("steps", [&](JsonFields &steps) { read(steps, out.steps); });
  readList(fields, "loads", out.loads);
  fields.get("thread", out.thread);
  fields.get("rank", out.rank);
  readList(fields, "ranks", out.ranks);
  readList(fields, "locations", out.locations);
  readList(fields, "stack", out.stack);
  readList(fields, "related", out.related);
  readList(fields, "fix", out.fix);
  fields.get("caution", out.caution);
}

void read(JsonFields &fields, CostBasis &out) {
  std::string blocked_time = "measured";
  fields.get("blocked_time", blocked_time);
  out.simulated = blocked_time == "simulated";
  if (!out.simulated && blocked_time != "measured")
    fields.fail("blocked_time", "measured or simulated");
  fields.get("wall_ns", out.wall_ns);
  fields.get("steps", out.steps);
}

void read(JsonFields &fields, StepTimes &out) {
  fields.get("rank", out.rank);
  fields.get("worker", out.worker);
  fields.get("begun_us", out.begun_us);
  fields.get("steps", out.steps);
  fields.get("end_ns", out.end_ns);
  readList(fields, "columns", out.columns);
}

void read(JsonFields &fields, Summary &out) {
  fields.get("tool", out.tool);
  fields.get("subject", out.subject);
  fields.get("suppressed", out.suppressed);
  fields.get("unused_suppressions", out.unused_suppressions);
  fields.get("stale_baseline", out.stale_baseline);
  fields.get("ranks", out.ranks);
  fields.get("partial", out.partial);
  fields.object("cost", [&](JsonFields &cost) { read(cost, out.basis); });
  fields.get("notes", out.notes);
  readList(fields, "step_times", out.step_times);
}

} // namespace

void writeJsonReport(std::ostream &out, std::span<const Finding> findings, const Summary &summary) {
  out << "{\n  \"schema\": " << Json(kReportSchema).dump() << ",\n  \"findings\": [";
  // One after the other: the whole as one value would take several times its size.
  for (std::size_t i = 0; i < findings.size(); ++i) {
    out << (i ? ",\n    " : "\n    ");
    write(out, toJson(findings[i], summary.basis), "    ");
  }
  out << (findings.empty() ? "],\n" : "\n  ],\n") << "  \"summary\": ";
  writeSummary(out, summary, findings.size());
  out << "\n}\n";
}

std::string jsonReport(std::span<const Finding> findings, const Summary &summary) {
  std::ostringstream text;
  writeJsonReport(text, findings, summary);
  return std::move(text).str();
}

Result<Report> readReport(std::string_view text, const std::string &source) {
  Report report;
  JsonFile file{source, kReportSchema, "a JSON report of devsan"};
  file.finding = [&](JsonFields &fields) { read(fields, report.findings.emplace_back()); };
  file.rest = [&](JsonFields &fields) {
    fields.object("summary", [&](JsonFields &summary) { read(summary, report.summary); });
  };
  if (Result<void> done = readJsonFile(text, file); !done)
    return tl::unexpected(done.error());
  return report;
}

Result<std::vector<Finding>> readJsonReport(const std::string &text, const std::string &source) {
  Result<Report> report = readReport(text, source);
  if (!report)
    return tl::unexpected(report.error());
  return std::move(report->findings);
}

} // namespace devsan::core
