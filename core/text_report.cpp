#include "core/reports.h"
#include "core/rule_table.h"
#include "core/source_lines.h"

#include <algorithm>
#include <fmt/color.h>
#include <fmt/format.h>
#include <iterator>
#include <set>

namespace devsan::core {
namespace {

constexpr std::size_t kCallersShown = 6;

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

class Printer {
public:
  explicit Printer(bool color) : color_(color) {}

  void finding(const Finding &finding) {
    const Location location = finding.locations.empty() ? Location{} : finding.locations.front();
    place(location);
    styled(severityStyle(finding.severity), fmt::format("{}: ", name(finding.severity)));
    styled(fmt::emphasis::bold, printable(finding.message));
    add(" [{}]\n", finding.rule);
    excerpt(location);
    for (const Related &related : finding.related) {
      place(related.location);
      note(printable(related.message));
    }
    callers(finding, location);
    // Once: the tenth finding of a rule needs no tenth advice.
    const Rule *rule = findRule(finding.rule);
    const std::string remedy =
        finding.remedy.empty() && rule ? std::string(rule->remedy) : finding.remedy;
    if (!remedy.empty() && advised_.insert(remedy).second)
      add("  remedy: {}\n", remedy);
  }

  void summary(std::span<const Finding> findings, const Summary &summary) {
    const auto count = [&](Severity severity) {
      return std::ranges::count(findings, severity, &Finding::severity);
    };
    add("{}: {}: ", summary.tool, printable(summary.subject));
    if (findings.empty())
      add("no findings");
    else
      add("{} ({}, {}, {})", plural(findings.size(), "finding"),
          plural(count(Severity::kError), "error"), plural(count(Severity::kWarning), "warning"),
          plural(count(Severity::kNote), "note"));
    if (summary.suppressed)
      add(", {} suppressed", summary.suppressed);
    add("\n");
    for (const std::string &unused : summary.unused_suppressions)
      add("{}: suppression never used: {}\n", summary.tool, printable(unused));
    for (const std::string &text : summary.notes)
      add("{}: note: {}\n", summary.tool, printable(text));
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
  static std::string plural(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
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

  bool color_;
  std::string out_;
  std::set<std::string> advised_;
  SourceLines lines_;
};

} // namespace

std::string textReport(std::span<const Finding> findings, const Summary &summary, bool color) {
  Printer printer(color);
  for (const Finding &finding : findings)
    printer.finding(finding);
  printer.summary(findings, summary);
  return printer.take();
}

} // namespace devsan::core
