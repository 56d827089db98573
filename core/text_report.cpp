#include "core/merge.h"
#include "core/quantities.h"
#include "core/reports.h"
#include "core/source_lines.h"

#include <algorithm>
#include <fmt/color.h>
#include <fmt/format.h>
#include <iterator>
#include <set>

namespace devsan::core {
namespace {

constexpr std::size_t kCallersShown = 6;
constexpr std::size_t kFixFirst = 5; // a report with more findings has a head
constexpr std::size_t kStaleShown = 10;

// Names and messages come from the program under test: a control character in them must not reach
// the terminal.
std::string printable(std::string_view text) {
  std::string out;
  for (unsigned char c : text)
    if (c >= 0x20 && c != 0x7f)
      out += static_cast<char>(c);
    else
      out += c == '\t' ? std::string(" ") : fmt::format("\\x{:02x}", c);
  return out;
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// "3 times, 1.2 s blocked (8.3 % of the run), 12 KB".
std::string costText(const Finding &finding, const CostBasis &basis) {
  std::string text = timesText(finding.count);
  const std::optional<Cost> cost = costOf(finding, basis);
  if (cost && cost->measured) {
    text += fmt::format(", {} blocked", durationText(cost->saves_ns));
    if (cost->share)
      text += fmt::format(" ({:.1f} % of the run)", *cost->share * 100);
    if (cost->per_step_ns)
      text += fmt::format(", {} a step", durationText(*cost->per_step_ns));
  }
  if (cost && finding.bytes)
    text += ", " + bytesText(finding.bytes);
  return text;
}

// Python's and C++'s ways of calling, which explain nothing.
bool isPlumbing(std::string_view function) {
  if (function.find("<locals>") != function.npos) // a decorator's
    return true;
  return function.ends_with("._wrapped_call_impl") || function.ends_with("._call_impl");
}

bool isPython(const Frame &frame) {
  return frame.module.empty() && !frame.location.function.empty();
}

// What the user's line called of the framework, and where in it the operator was called: both are
// null where the line called the operator itself.
struct Framework {
  const Frame *called = nullptr;
  const Frame *inner = nullptr;
};

Framework frameworkOf(const Finding &finding) {
  Framework result;
  for (const Frame &frame : finding.stack) {
    if (frame.user)
      break;
    const std::string &function = frame.location.function;
    const bool explains = isPython(frame) ? !isPlumbing(function)
                                          : function.starts_with("torch::optim::") ||
                                                function.starts_with("torch::nn::") ||
                                                function.starts_with("c10d::");
    if (!explains)
      continue;
    result.called = &frame;
    if (!result.inner)
      result.inner = &frame;
  }
  return result;
}

bool isStatic(const Finding *finding) {
  return finding->origin == Origin::kStatic;
}

class Printer {
public:
  Printer(const Summary &summary, bool color) : summary_(summary), color_(color) {}

  void head(std::span<const Finding *const> findings) {
    // Without a run there is no cost to go by: then they stand by place, as a compiler's do.
    if (findings.size() <= kFixFirst || std::ranges::all_of(findings, &isStatic))
      return;
    styled(fmt::emphasis::bold, fmt::format("{}: fix first, of {}:\n", summary_.tool,
                                            plural(findings.size(), "finding")));
    for (std::size_t i = 0; i < kFixFirst; ++i) {
      const Finding &finding = *findings[i];
      const Location location = finding.locations.empty() ? Location{} : finding.locations.front();
      add("  {}. ", i + 1);
      place(location);
      styled(severityStyle(finding.severity), fmt::format("{}: ", name(finding.severity)));
      add("{}{}\n", finding.rule,
          isStatic(&finding) ? "" : ", " + costText(finding, summary_.basis));
    }
    if (summary_.basis.simulated)
      add("  (simulated devices take the host's time, so the order is by count and bytes)\n");
    add("\n");
  }

  void finding(const Finding &finding) {
    const Location location = finding.locations.empty() ? Location{} : finding.locations.front();
    place(location);
    styled(severityStyle(finding.severity), fmt::format("{}: ", name(finding.severity)));
    styled(fmt::emphasis::bold, printable(finding.message) + whereText(finding));
    add(" [{}]\n", finding.rule);
    excerpt(location);
    framework(finding);
    callers(finding, location);
    for (const Related &related : finding.related) {
      place(related.location);
      note(printable(related.message));
    }
    // Once: the tenth finding of a rule needs no tenth advice.
    const std::string remedy = remedyOf(finding);
    if (!remedy.empty() && advised_.insert(remedy).second)
      add("  remedy: {}\n", printable(remedy));
  }

  void summary(std::span<const Finding *const> findings, std::size_t known, std::size_t shown) {
    const auto count = [&](Severity severity) {
      return static_cast<std::size_t>(std::ranges::count_if(
          findings, [&](const Finding *finding) { return finding->severity == severity; }));
    };
    if (shown < findings.size())
      add("{}: {} more findings, which cost less, are not shown here\n", summary_.tool,
          findings.size() - shown);
    add("{}: {}: ", summary_.tool, printable(summary_.subject));
    const std::string noun = known ? "new finding" : "finding";
    if (findings.empty())
      add("no {}s", noun);
    else
      add("{} ({}, {}, {})", plural(findings.size(), noun),
          plural(count(Severity::kError), "error"), plural(count(Severity::kWarning), "warning"),
          plural(count(Severity::kNote), "note"));
    if (known)
      add(", {} known from the baseline", known);
    if (summary_.suppressed)
      add(", {} suppressed", summary_.suppressed);
    add("\n");
    for (const std::string &unused : summary_.unused_suppressions)
      add("{}: suppression never used: {}\n", summary_.tool, printable(unused));
    for (std::size_t i = 0; i < summary_.stale_baseline.size(); ++i) {
      if (i == kStaleShown) {
        add("{}: {} more entries of the baseline are not found any more\n", summary_.tool,
            summary_.stale_baseline.size() - i);
        break;
      }
      add("{}: not found any more, take it out of the baseline: {}\n", summary_.tool,
          printable(summary_.stale_baseline[i]));
    }
    for (const std::string &text : summary_.notes)
      add("{}: note: {}\n", summary_.tool, printable(text));
  }

  void quiet(std::size_t count) {
    if (count)
      add("{}: note: {} of severity note not shown; --report=FILE.txt holds all\n", summary_.tool,
          plural(count, "finding"));
  }

  std::string take() { return std::move(out_); }

private:
  template <typename... Args> void add(fmt::format_string<Args...> format, Args &&...args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  void styled(fmt::text_style style, const std::string &text) {
    out_ += color_ ? fmt::format(style, "{}", text) : text;
  }
  void note(const std::string &text) {
    styled(fmt::fg(fmt::terminal_color::cyan), "note: ");
    add("{}\n", text);
  }
  static fmt::text_style severityStyle(Severity severity) {
    switch (severity) {
    case Severity::kNote:
      return fmt::emphasis::bold | fmt::fg(fmt::terminal_color::cyan);
    case Severity::kWarning:
      return fmt::emphasis::bold | fmt::fg(fmt::terminal_color::magenta);
    case Severity::kError:
      return fmt::emphasis::bold | fmt::fg(fmt::terminal_color::red);
    }
    return {};
  }

  void place(const Location &location) {
    if (location.file.empty())
      return;
    std::string text = printable(location.file) + ":";
    if (location.line)
      text += fmt::format("{}:", location.line);
    if (location.line && location.column)
      text += fmt::format("{}:", location.column);
    styled(fmt::emphasis::bold, text);
    add(" ");
  }

  // The message speaks of one process; this tells of the others.
  std::string whereText(const Finding &finding) const {
    const std::string where = whereSeen(finding, summary_.ranks);
    if (where.empty())
      return "";
    std::uint64_t processes = 0;
    for (const RankShare &share : finding.ranks)
      processes += share.processes;
    if (processes < 2)
      return ", " + where;
    return fmt::format("{}; the same {}, {} in all",
                       finding.rank ? fmt::format(", on rank {}", *finding.rank) : "", where,
                       timesText(finding.count));
  }

  void excerpt(const Location &location) {
    const auto line = lines_.line(location.file, location.line);
    if (!line)
      return;
    add("{:5} | {}\n", location.line, printable(*line));
    if (location.column && location.column <= line->size() + 1) {
      add("      | {}", std::string(location.column - 1, ' '));
      styled(fmt::emphasis::bold | fmt::fg(fmt::terminal_color::green), "^");
      add("\n");
    }
  }

  void framework(const Finding &finding) {
    const Framework inside = frameworkOf(finding);
    if (!inside.called)
      return;
    place(inside.inner->location);
    note(inside.inner == inside.called ? "inside " + printable(inside.called->location.function)
                                       : "inside " + printable(inside.called->location.function) +
                                             ", in " + printable(inside.inner->location.function));
  }

  void callers(const Finding &finding, const Location &location) {
    std::size_t shown = 0;
    for (const Frame &frame : finding.stack) {
      if (!frame.user || frame.location.file.empty() ||
          (frame.location.file == location.file && frame.location.line == location.line))
        continue;
      if (shown++ == kCallersShown)
        break;
      place(frame.location);
      note("called from " + printable(frame.location.function));
    }
  }

  const Summary &summary_;
  bool color_;
  std::string out_;
  std::set<std::string> advised_;
  SourceLines lines_;
};

} // namespace

std::string textReport(std::span<const Finding> findings, const Summary &summary, TextStyle style) {
  std::vector<const Finding *> fresh;
  std::size_t known = 0, quiet = 0;
  for (const Finding &finding : findings) {
    if (finding.known)
      ++known;
    else if (finding.severity < style.least)
      ++quiet;
    else
      fresh.push_back(&finding);
  }
  const std::size_t shown = std::min(fresh.size(), style.limit);
  Printer printer(summary, style.color);
  printer.head(fresh);
  for (std::size_t i = 0; i < shown; ++i)
    printer.finding(*fresh[i]);
  printer.summary(fresh, known, shown);
  printer.quiet(quiet);
  return printer.take();
}

std::string findingsText(std::span<const Finding> findings, const Summary &summary) {
  Printer printer(summary, false);
  for (const Finding &finding : findings)
    printer.finding(finding);
  return printer.take();
}

std::string summaryText(std::span<const Finding> findings, const Summary &summary) {
  std::vector<const Finding *> fresh;
  for (const Finding &finding : findings)
    if (!finding.known)
      fresh.push_back(&finding);
  Printer printer(summary, false);
  printer.summary(fresh, findings.size() - fresh.size(), fresh.size());
  return printer.take();
}

} // namespace devsan::core
