// The report as one page for a browser. The page is fixed at build time (core/report/html); this
// writes the data that it shows: tables of strings, places and call paths, which findings share, so
// that 10^5 of them stay some tens of megabytes. What comes from the program is JSON inside a
// script element that is not run, and the page's script puts it into text nodes only.
#include "core/finding/merge.h"
#include "core/finding/rule_table.h"
#include "core/report/reports.h"
#include "core/system/source_lines.h"
#include "core/text/json_fields.h"
#include "core/text/terminal_text.h"
#include "html_page.inc"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace devsan::core {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxText = 64 << 10;    // of one string; the JSON report holds the rest
constexpr unsigned kContext = 4;              // lines before and after
constexpr std::size_t kMaxLine = 400;         // bytes of a line of source
constexpr std::size_t kMaxSource = 8 << 20;   // bytes of all lines of source
constexpr std::size_t kFramesWithSource = 12; // of one finding, innermost first

// "</script>" and "<!--" would end the data or hide what follows.
std::string embedded(const Json &json) {
  std::string out;
  for (char c : json.dump(-1, ' ', false, Json::error_handler_t::replace))
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  return out;
}

class Strings {
public:
  std::size_t add(const std::string &text) {
    const auto [entry, added] = indices_.try_emplace(
        cut(text, kMaxText, " … (" + std::to_string(text.size()) + " bytes)"), order_.size());
    if (added)
      order_.push_back(&entry->first);
    return entry->second;
  }
  void write(std::ostream &out) const {
    out << '[';
    for (std::size_t i = 0; i < order_.size(); ++i)
      out << (i ? ",\n" : "") << embedded(*order_[i]);
    out << ']';
  }

private:
  std::unordered_map<std::string, std::size_t> indices_;
  std::vector<const std::string *> order_;
};

// Rows of numbers that are told apart, numbered in the order in which they first came.
template <std::size_t Width> class Rows {
public:
  using Row = std::array<std::uint64_t, Width>;

  std::size_t add(const Row &row) {
    const auto [entry, added] = indices_.try_emplace(row, order_.size());
    if (added)
      order_.push_back(row);
    return entry->second;
  }
  // One list, row after row.
  void write(std::ostream &out) const {
    out << '[';
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (std::size_t k = 0; k < Width; ++k)
        out << (i || k ? "," : "") << order_[i][k];
    out << ']';
  }

private:
  std::map<Row, std::size_t> indices_;
  std::vector<Row> order_;
};

// The lines around places, of files below the working directory alone: a report is handed around,
// and its paths may come from elsewhere.
class Source {
public:
  void show(const Location &location) {
    if (location.file.empty() || location.line == 0 || !isBelow(location.file))
      return;
    std::set<unsigned> &lines = files_[location.file];
    const unsigned first = location.line > kContext ? location.line - kContext : 1;
    for (unsigned line = first; line - first <= 2 * kContext; ++line)
      lines.insert(line);
  }

  // [file, first line, [line …]] for each run of lines.
  void write(std::ostream &out, Strings &strings) {
    out << '[';
    std::size_t left = kMaxSource;
    bool begun = false;
    for (const auto &[file, lines] : files_) {
      SourceLines text("."); // one file at a time
      Json run = Json::array();
      unsigned first = 0;
      const auto flush = [&] {
        if (run.empty())
          return;
        out << (begun ? ",\n" : "") << '[' << strings.add(file) << ',' << first << ','
            << embedded(run) << ']';
        begun = true;
        run = Json::array();
      };
      for (const unsigned number : lines) {
        std::optional<std::string> line = text.line(file, number);
        if (!line)
          break;
        *line = cut(*line, kMaxLine, " …");
        if (line->size() > left)
          break;
        left -= line->size();
        if (!run.empty() && number != first + run.size())
          flush();
        if (run.empty())
          first = number;
        run.push_back(std::move(*line));
      }
      flush();
    }
    out << ']';
  }

private:
  bool isBelow(const std::string &file) {
    const auto [known, added] = below_.try_emplace(file, false);
    if (added) {
      std::error_code error;
      if (root_.empty())
        root_ = fs::canonical(fs::current_path(error), error);
      const fs::path path = fs::canonical(file, error);
      if (!error && !root_.empty()) {
        const fs::path relative = path.lexically_relative(root_);
        known->second = !relative.empty() && *relative.begin() != "..";
      }
    }
    return known->second;
  }

  fs::path root_;
  std::unordered_map<std::string, bool> below_;
  std::map<std::string, std::set<unsigned>> files_;
};

using Place = std::tuple<std::string_view, std::string_view, unsigned>;

std::optional<Place> predictedPlace(const Finding &finding) {
  if (finding.locations.empty() || !finding.locations.front().line)
    return std::nullopt;
  const Location &location = finding.locations.front();
  return Place{finding.rule, location.file, location.line};
}

// What the analyzer predicted and a run observed: the same rule on the same line.
class Seen {
public:
  explicit Seen(std::span<const Finding> findings) {
    for (std::size_t i = 0; i < findings.size(); ++i)
      if (const auto place = predictedPlace(findings[i])) {
        Side &side = sides_[sideOf(findings[i])];
        side.first.try_emplace(*place, i);
        side.first_of_op.try_emplace({*place, findings[i].op}, i);
      }
  }
  // The first of the other side, of the same operator where there is one.
  std::optional<std::size_t> other(const Finding &finding) const {
    const auto place = predictedPlace(finding);
    if (!place)
      return std::nullopt;
    const Side &there = sides_[1 - sideOf(finding)];
    if (const auto same = there.first_of_op.find({*place, finding.op});
        same != there.first_of_op.end())
      return same->second;
    const auto found = there.first.find(*place);
    return found == there.first.end() ? std::nullopt : std::optional(found->second);
  }

private:
  struct Side {
    std::map<Place, std::size_t> first;
    std::map<std::pair<Place, std::string_view>, std::size_t> first_of_op;
  };

  static std::size_t sideOf(const Finding &finding) { return finding.origin == Origin::kRuntime; }

  std::array<Side, 2> sides_;
};

class Page {
public:
  Page(std::ostream &out, std::span<const Finding> findings, const Summary &summary,
       std::span<const Since> since)
      : out_(out), findings_(findings), summary_(summary), since_(since), seen_(findings) {}

  void write() {
    out_ << "{\"findings\":[";
    for (std::size_t i = 0; i < findings_.size(); ++i)
      out_ << (i ? ",\n" : "\n")
           << embedded(data(findings_[i], since_.empty() ? nullptr : &since_[i]));
    out_ << "],\n\"source\":";
    source_.write(out_, strings_);
    out_ << ",\n\"places\":";
    places_.write(out_);
    out_ << ",\n\"paths\":";
    paths_.write(out_);
    out_ << ",\n\"rules\":" << embedded(rules());
    out_ << ",\n\"summary\":" << embedded(data(summary_));
    out_ << ",\n\"strings\":";
    strings_.write(out_);
    out_ << "}";
  }

private:
  std::size_t place(const Location &location, const std::string &module = {}, bool user = true) {
    return places_.add({strings_.add(location.file), location.line, location.column,
                        strings_.add(location.function), strings_.add(module), user});
  }

  // A call path is its caller's path and a place: 0 for none, else its number + 1.
  std::size_t path(const std::vector<Frame> &stack) {
    std::size_t at = 0;
    for (std::size_t i = stack.size(); i-- > 0;) {
      const Frame &frame = stack[i];
      at = paths_.add({at, place(frame.location, frame.module, frame.user)}) + 1;
    }
    std::size_t shown = 0;
    for (const Frame &frame : stack)
      if (frame.user && shown++ < kFramesWithSource)
        source_.show(frame.location);
    return at;
  }

  // What is 0 or empty is left out.
  Json data(const Finding &finding, const Since *since) {
    Json json = {{"rule", strings_.add(finding.rule)},
                 {"severity", static_cast<int>(finding.severity)},
                 {"message", strings_.add(finding.message)}};
    const auto text = [&](const char *key, const std::string &value) {
      if (!value.empty())
        json[key] = strings_.add(value);
    };
    const auto number = [&](const char *key, std::uint64_t value) {
      if (value)
        json[key] = value;
    };
    text("remedy", remedyOf(finding));
    text("op", finding.op);
    text("from", finding.from);
    text("to", finding.to);
    text("where", whereSeen(finding, summary_.ranks));
    text("stepsText", stepsText(finding.steps));
    text("fingerprint", finding.fingerprint);
    number("count", finding.count);
    number("bytes", finding.bytes);
    number("blocked", finding.blocked_ns);
    number("fix", finding.fix.size());
    text("caution", finding.caution);
    number("thread", finding.thread);
    if (since) {
      json["since"] = static_cast<int>(since->kind);
      text("change", since->change);
    }
    if (finding.known)
      json["known"] = true;
    if (finding.origin == Origin::kRuntime)
      json["observed"] = true;
    if (const auto other = seen_.other(finding))
      json["other"] = *other;
    if (const std::optional<Cost> cost = costOf(finding, summary_.basis)) {
      number("saves", cost->saves_ns);
      if (cost->measured)
        json["measured"] = true;
      if (cost->share)
        json["share"] = *cost->share;
      if (cost->per_step_ns)
        json["perStep"] = *cost->per_step_ns;
    }
    if (const Steps &steps = finding.steps; steps.total)
      json["steps"] = {steps.total, steps.seen, steps.first, steps.last, steps.most};
    if (finding.rank)
      json["rank"] = *finding.rank;
    for (const RankShare &share : finding.ranks)
      json["ranks"].push_back({share.rank.value_or(-1), static_cast<int>(share.worker),
                               share.processes, share.count, share.bytes, share.blocked_ns});
    for (const Location &location : finding.locations) {
      json["places"].push_back(place(location));
      source_.show(location);
    }
    if (!finding.stack.empty())
      json["path"] = path(finding.stack);
    for (const Related &related : finding.related) {
      json["related"].push_back({place(related.location), strings_.add(related.message)});
      source_.show(related.location);
    }
    return json;
  }

  Json rules() const {
    std::set<std::string> ids;
    for (const Finding &finding : findings_)
      ids.insert(finding.rule);
    Json json = Json::object();
    for (const std::string &id : ids)
      if (const Rule *rule = findRule(id))
        json[id] = std::string(rule->summary);
    return json;
  }

  static Json texts(const std::vector<std::string> &lines) {
    Json json = Json::array();
    for (const std::string &line : lines)
      json.push_back(cut(line, kMaxText, " …"));
    return json;
  }

  static Json data(const StepTimes &times) {
    Json json = {{"rank", times.rank.value_or(-1)},
                 {"worker", times.worker},
                 {"begun", times.begun_us},
                 {"steps", times.steps},
                 {"end", times.end_ns}};
    for (const char *key : {"step", "begin", "length", "longest"})
      json[key] = Json::array();
    for (const StepColumn &column : times.columns) {
      json["step"].push_back(column.step);
      json["begin"].push_back(column.begin_ns);
      json["length"].push_back(column.longest_ns);
      json["longest"].push_back(column.longest);
    }
    return json;
  }

  static Json data(const Summary &summary) {
    Json times = Json::array();
    for (const StepTimes &one : summary.step_times)
      times.push_back(data(one));
    return {{"verdict", verdictText(summary.verdict)},
            {"tool", cut(summary.tool, kMaxText, " …")},
            {"version", DEVSAN_VERSION},
            {"subject", cut(summary.subject, kMaxText, " …")},
            {"suppressed", summary.suppressed},
            {"unusedSuppressions", texts(summary.unused_suppressions)},
            {"staleBaseline", texts(summary.stale_baseline)},
            {"ranks", summary.ranks},
            {"partial", summary.partial},
            {"notes", texts(summary.notes)},
            {"simulated", summary.basis.simulated},
            {"wall", summary.basis.wall_ns},
            {"steps", summary.basis.steps},
            {"times", std::move(times)},
            {"assumedWait", kAssumedWaitNs},
            {"assumedRate", kAssumedBytesPerSecond}};
  }

  std::ostream &out_;
  std::span<const Finding> findings_;
  const Summary &summary_;
  std::span<const Since> since_;
  Seen seen_;
  Strings strings_;
  Rows<6> places_;
  Rows<2> paths_;
  Source source_;
};

} // namespace

void writeHtmlReport(std::ostream &out, std::span<const Finding> findings, const Summary &summary,
                     std::span<const Since> since) {
  out << kBeforeReport;
  Page(out, findings, summary, since).write();
  out << kAfterReport;
}

} // namespace devsan::core
