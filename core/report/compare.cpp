#include "core/report/compare.h"

#include "core/report/reports.h"
#include "core/text/json_fields.h"
#include "core/text/quantities.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <set>

namespace devsan::core {
namespace {

constexpr std::string_view kCompareSchema = "devsan-compare/1";
// Times are never the same twice: less than this, of the longer, is no change.
constexpr double kTimeTolerance = 0.25;
constexpr std::uint64_t kTimeFloorNs = 1'000'000;

std::string keyOf(const Finding &finding) {
  std::string key =
      fmt::format("{}\n{}\n{}", finding.rule, name(finding.origin), finding.fingerprint);
  if (finding.fingerprint.empty() && !finding.locations.empty())
    key +=
        fmt::format("\n{}\n{}", finding.locations.front().file, finding.locations.front().function);
  return key;
}

bool differInTime(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t longer = std::max(a, b), difference = longer - std::min(a, b);
  return difference >= kTimeFloorNs &&
         static_cast<double>(difference) > kTimeTolerance * static_cast<double>(longer);
}

std::string headOf(const Finding &finding) {
  std::string place;
  if (!finding.locations.empty() && !finding.locations.front().file.empty()) {
    const Location &at = finding.locations.front();
    place = printable(at.file) + (at.line ? fmt::format(":{}", at.line) : "") + ": ";
  }
  return fmt::format("{}{}: {}", place, name(finding.severity), printable(finding.rule));
}

template <typename Text>
void addPart(std::string &line, std::uint64_t before, std::uint64_t after, const Text &text) {
  line += fmt::format("{}{} → {}", line.empty() ? "" : ", ", text(before), text(after));
}

bool hasMeasuredTimes(const Comparison &comparison) {
  return !comparison.before.basis.simulated && !comparison.after.basis.simulated;
}

// "was error, 3 times → 5 times".
std::string changeText(const Comparison &comparison, const Change &change) {
  const auto &[before, after] = change;
  std::string what;
  if (before.severity != after.severity)
    what = fmt::format("was {}", name(before.severity));
  if (before.count != after.count)
    addPart(what, before.count, after.count, timesText);
  if (before.bytes != after.bytes)
    addPart(what, before.bytes, after.bytes, bytesText);
  if (hasMeasuredTimes(comparison) && differInTime(before.blocked_ns, after.blocked_ns))
    addPart(what, before.blocked_ns, after.blocked_ns,
            [](std::uint64_t time) { return durationText(time) + " blocked"; });
  return what;
}

std::vector<std::string> notesOf(const Comparison &comparison) {
  std::vector<std::string> notes;
  if (comparison.before.partial)
    notes.emplace_back("the old report is incomplete: a finding shown as new may be old");
  if (comparison.after.partial)
    notes.emplace_back("the new report is incomplete: a finding shown as gone may still be there");
  return notes;
}

Summary summaryOf(const Comparison &comparison) {
  Summary summary = comparison.after;
  summary.subject = fmt::format("{} → {}", comparison.before.subject, comparison.after.subject);
  summary.notes = notesOf(comparison);
  summary.partial = false; // the notes say of which
  return summary;
}

// One report of both: what is new first.
struct Joined {
  std::vector<Finding> findings;
  std::vector<Since> since; // of each
  Summary summary;
};

Joined joined(const Comparison &comparison) {
  Joined all;
  const auto add = [&](const Finding &finding, Since since) {
    all.findings.push_back(finding);
    all.findings.back().known = false;
    all.since.push_back(std::move(since));
  };
  for (const Finding &finding : comparison.fresh)
    add(finding, {Since::Kind::kNew});
  for (const Change &change : comparison.changed)
    add(change.after, {Since::Kind::kChanged, changeText(comparison, change)});
  for (const Finding &finding : comparison.gone)
    add(finding, {Since::Kind::kGone});
  for (const Finding &finding : comparison.same)
    add(finding, {Since::Kind::kSame});
  all.summary = summaryOf(comparison);
  return all;
}

Json toJson(const Finding &finding) {
  Json json = {{"rule", finding.rule},
               {"severity", name(finding.severity)},
               {"origin", name(finding.origin)},
               {"message", finding.message},
               {"remedy", remedyOf(finding)},
               {"fingerprint", finding.fingerprint},
               {"count", finding.count},
               {"bytes", finding.bytes},
               {"blocked_ns", finding.blocked_ns},
               {"locations", Json::array()}};
  for (const Location &place : finding.locations)
    json["locations"].push_back({{"file", place.file},
                                 {"line", place.line},
                                 {"column", place.column},
                                 {"function", place.function}});
  return json;
}

Json numbers(std::uint64_t before, std::uint64_t after) {
  return {{"old", before}, {"new", after}};
}

template <typename Range, typename Write> Json arrayOf(const Range &range, const Write &write) {
  Json array = Json::array();
  for (const auto &element : range)
    array.push_back(write(element));
  return array;
}

} // namespace

std::string_view name(Since::Kind kind) {
  switch (kind) {
  case Since::Kind::kNew:
    return "new";
  case Since::Kind::kChanged:
    return "changed";
  case Since::Kind::kGone:
    return "gone";
  case Since::Kind::kSame:
    return "the same";
  }
  return {};
}

Comparison compare(Report before, Report after) {
  Comparison comparison;
  // Times on simulated devices are the host's.
  const bool measured = !before.summary.basis.simulated && !after.summary.basis.simulated;
  std::map<std::string, std::deque<std::size_t>> old; // of equal keys, in their order
  for (std::size_t i = 0; i < before.findings.size(); ++i)
    old[keyOf(before.findings[i])].push_back(i);
  std::set<std::size_t> found;
  for (Finding &finding : after.findings) {
    auto &candidates = old[keyOf(finding)];
    if (candidates.empty()) {
      comparison.fresh.push_back(std::move(finding));
      continue;
    }
    Finding &known = before.findings[candidates.front()];
    found.insert(candidates.front());
    candidates.pop_front();
    if (finding.severity > known.severity)
      comparison.fresh.push_back(std::move(finding));
    else if (finding.count != known.count || finding.bytes != known.bytes ||
             finding.severity != known.severity ||
             (measured && differInTime(finding.blocked_ns, known.blocked_ns)))
      comparison.changed.push_back({std::move(known), std::move(finding)});
    else
      comparison.same.push_back(std::move(finding));
  }
  for (std::size_t i = 0; i < before.findings.size(); ++i)
    if (!found.contains(i))
      comparison.gone.push_back(std::move(before.findings[i]));
  for (Finding &finding : comparison.fresh)
    finding.known = false;
  comparison.before = std::move(before.summary);
  comparison.after = std::move(after.summary);
  rankByCost(comparison.fresh, comparison.after.basis);
  rankByCost(comparison.gone, comparison.before.basis);
  rankByCost(comparison.same, comparison.after.basis);
  return comparison;
}

std::string compareText(const Comparison &comparison, Terminal terminal) {
  std::vector<Finding> fresh = comparison.fresh;
  for (Finding &finding : fresh)
    finding.message = "new: " + finding.message;
  std::string text = findingsText(fresh, comparison.after, terminal);
  for (const Finding &finding : comparison.gone)
    text += fmt::format("gone: {}: {}\n", headOf(finding), printable(finding.message));
  for (const Change &change : comparison.changed)
    text += fmt::format("changed: {}: {}\n", headOf(change.after), changeText(comparison, change));
  text += fmt::format("{}: {} new, {} gone, {} changed, {} the same\n",
                      printable(headline(summaryOf(comparison))), comparison.fresh.size(),
                      comparison.gone.size(), comparison.changed.size(), comparison.same.size());
  for (const std::string &note : notesOf(comparison))
    text += fmt::format("devsan report: note: {}\n", note);
  return text;
}

std::string compareJson(const Comparison &comparison) {
  const Json json = {
      {"schema", kCompareSchema},
      {"new", arrayOf(comparison.fresh, [](const Finding &finding) { return toJson(finding); })},
      {"gone", arrayOf(comparison.gone, [](const Finding &finding) { return toJson(finding); })},
      {"changed", arrayOf(comparison.changed,
                          [](const Change &change) {
                            Json entry = toJson(change.after);
                            const Finding &before = change.before, &after = change.after;
                            entry["count"] = numbers(before.count, after.count);
                            entry["bytes"] = numbers(before.bytes, after.bytes);
                            entry["blocked_ns"] = numbers(before.blocked_ns, after.blocked_ns);
                            entry["severity"] = {{"old", name(before.severity)},
                                                 {"new", name(after.severity)}};
                            return entry;
                          })},
      {"summary",
       {{"verdict",
         {{"outcome", name(comparison.after.verdict.outcome)},
          {"because", comparison.after.verdict.because}}},
        {"old", comparison.before.subject},
        {"new", comparison.after.subject},
        {"version", DEVSAN_VERSION},
        {"findings_new", comparison.fresh.size()},
        {"findings_gone", comparison.gone.size()},
        {"findings_changed", comparison.changed.size()},
        {"findings_same", comparison.same.size()},
        {"old_partial", comparison.before.partial},
        {"new_partial", comparison.after.partial}}}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string compareMarkdown(const Comparison &comparison) {
  const Joined all = joined(comparison);
  return markdownReport(all.findings, all.summary, all.since);
}

void writeCompareHtml(std::ostream &out, const Comparison &comparison) {
  const Joined all = joined(comparison);
  writeHtmlReport(out, all.findings, all.summary, all.since);
}

Report newFindings(const Comparison &comparison) {
  return {comparison.fresh, summaryOf(comparison)};
}

} // namespace devsan::core
