#include "core/finding/merge.h"
#include "core/finding/ownership.h"
#include "core/report/reports.h"
#include "core/system/source_lines.h"
#include "core/text/quantities.h"
#include "core/text/terminal_text.h"

#include <algorithm>
#include <filesystem>
#include <fmt/color.h>
#include <fmt/format.h>
#include <map>
#include <set>

namespace devsan::core {
namespace {

constexpr std::size_t kCallersShown = 6;
constexpr std::size_t kPlacesShown = 10;
constexpr std::size_t kFixFirst = 5; // a report with more findings has a head
constexpr std::size_t kStaleShown = 10;

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
bool isCallHelper(std::string_view function) {
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
    const bool explains = isPython(frame) ? !isCallHelper(function)
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

// The last two parts of a path.
std::string shortName(const std::filesystem::path &file) {
  const std::filesystem::path folder = file.parent_path().filename();
  return folder.empty() ? file.string() : (folder / file.filename()).string();
}

bool isStatic(const Finding *finding) {
  return finding->origin == Origin::kStatic;
}

enum class Style { kPlain, kBold, kHint, kNote, kWarning, kError, kCaret };

fmt::text_style styleOf(Style style) {
  using fmt::terminal_color;
  switch (style) {
  case Style::kPlain:
    return {};
  case Style::kBold:
    return fmt::emphasis::bold;
  case Style::kHint:
    return fmt::fg(terminal_color::cyan);
  case Style::kNote:
    return fmt::emphasis::bold | fmt::fg(terminal_color::cyan);
  case Style::kWarning:
    return fmt::emphasis::bold | fmt::fg(terminal_color::magenta);
  case Style::kError:
    return fmt::emphasis::bold | fmt::fg(terminal_color::red);
  case Style::kCaret:
    return fmt::emphasis::bold | fmt::fg(terminal_color::green);
  }
  return {};
}

Style styleOf(Severity severity) {
  switch (severity) {
  case Severity::kNote:
    return Style::kNote;
  case Severity::kWarning:
    return Style::kWarning;
  case Severity::kError:
    return Style::kError;
  }
  return Style::kPlain;
}

// Lines of styled text that is printable(), broken between words where a terminal ends.
class Lines {
public:
  explicit Lines(Terminal terminal) : terminal_(terminal) {}

  void add(Style style, std::string_view text) {
    if (!text.empty())
      parts_.push_back({style, printable(text)});
  }

  // `indent`: of what does not fit into the first line; none: the line stays whole.
  void end(std::optional<std::size_t> indent) {
    std::string whole;
    for (const Part &part : parts_)
      whole += part.text;
    out_ += lineHead(whole);
    if (terminal_.columns && indent)
      wrap(*indent);
    for (const auto &[style, text] : parts_)
      out_ += terminal_.color && style != Style::kPlain ? fmt::format(styleOf(style), "{}", text)
                                                        : text;
    out_ += '\n';
    parts_.clear();
  }

  std::size_t columns() const { return terminal_.columns; }
  std::string take() { return std::move(out_); }

private:
  struct Part {
    Style style;
    std::string text;
  };

  // A space becomes the end of a line where the word after it, which may go on in the next part,
  // would not end in time. A word that is longer than a line stays whole: paths can be copied.
  void wrap(std::size_t indent) {
    std::size_t column = 0, word = 0; // of the word that has begun
    Part *space_part = nullptr;
    std::size_t space_at = 0;
    const std::string next_line = "\n" + std::string(indent, ' ');
    for (Part &part : parts_) {
      std::size_t at = 0;
      for (const Cell &cell : cellsOf(part.text)) {
        column += cell.columns;
        if (cell.text == " ") {
          // What leads the line is its indent.
          if (column > word + 1 || space_part) {
            space_part = &part;
            space_at = at;
          }
          word = column;
        } else if (column > terminal_.columns && space_part && word > indent) {
          space_part->text.replace(space_at, 1, next_line);
          if (space_part == &part)
            at += next_line.size() - 1;
          column = indent + column - word;
          word = indent;
          space_part = nullptr;
        }
        at += cell.text.size();
      }
    }
  }

  Terminal terminal_;
  std::vector<Part> parts_;
  std::string out_;
};

constexpr std::size_t kContinuation = 6; // columns, as clang indents the rest of a message

// The part of a line of source around a column that fits, and where in it the column is.
struct Excerpt {
  std::string text;
  std::size_t caret = 0; // columns before it
};

Excerpt excerptOf(std::string_view line, std::size_t bytes_before, std::size_t columns) {
  const std::vector<Cell> cells = cellsOf(line);
  const std::size_t before = cellsOf(line.substr(0, bytes_before)).size();
  const auto width = [&](std::size_t begin, std::size_t end) {
    std::size_t sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      sum += cells[i].columns;
    return sum;
  };
  std::size_t begin = 0, end = cells.size();
  if (columns && width(begin, end) > columns) {
    // A third of the room for what comes before the place: what it begins says most.
    constexpr std::size_t kMarks = 2; // one column each
    const std::size_t room = columns - kMarks;
    if (width(0, std::min(before + 1, end)) > room)
      for (begin = before; begin > 0 && width(begin - 1, before) <= room / 3;)
        --begin;
    for (end = begin; end < cells.size() && width(begin, end + 1) <= room;)
      ++end;
  }
  Excerpt excerpt{begin ? "…" : "", (begin ? 1 : 0) + width(begin, std::max(begin, before))};
  for (std::size_t i = begin; i < end; ++i)
    excerpt.text += cells[i].text;
  if (end < cells.size())
    excerpt.text += "…";
  return excerpt;
}

class Printer {
public:
  Printer(const Summary &summary, Terminal terminal)
      : summary_(summary), lines_(terminal), sources_(summary.sources_below) {}

  // What does away with several of the findings, before each of them says it.
  void cures(std::span<const Finding *const> findings) {
    std::map<std::string, std::size_t> counts;
    for (const Finding *finding : findings)
      if (!finding->cure.empty())
        ++counts[finding->cure];
    std::erase_if(counts, [](const auto &item) { return item.second < 2; });
    for (const auto &[cure, count] : counts) {
      add(Style::kBold, "{}: one change for {}:", summary_.tool, countText(count, "finding"));
      add(" {}", cure);
      end();
    }
    if (!counts.empty())
      lines_.end(std::nullopt);
  }

  void head(std::span<const Finding *const> findings) {
    // Without a run there is no cost to go by: then they stand by place, as a compiler's do.
    if (findings.size() <= kFixFirst || std::ranges::all_of(findings, &isStatic))
      return;
    add(Style::kBold, "{}: fix first, of {}:", summary_.tool,
        countText(findings.size(), "finding"));
    end();
    for (std::size_t i = 0; i < kFixFirst; ++i) {
      const Finding &finding = *findings[i];
      add("  {}. ", i + 1);
      place(ownPlace(finding));
      severity(finding);
      add("{}{}", finding.rule, isStatic(&finding) ? "" : ", " + costText(finding, summary_.basis));
      end();
    }
    if (summary_.basis.simulated) {
      add("  (simulated devices take the host's time, so the order is by count and bytes)");
      end();
    }
    lines_.end(std::nullopt);
  }

  void finding(const Finding &finding) {
    const Location location = finding.locations.empty() ? Location{} : finding.locations.front();
    place(location);
    severity(finding);
    add(Style::kBold, "{}{}", finding.message, whereText(finding));
    add(" [{}]", finding.rule);
    lines_.end(std::nullopt); // whole, for whatever reads lines from a terminal: editors, people's
                              // searches
    excerpt(location);
    if (!location.line && !location.file.empty() && !location.function.empty()) {
      place(location);
      note("in " + location.function);
    }
    framework(finding);
    callers(finding, location);
    for (std::size_t i = 1; i < finding.locations.size(); ++i) {
      if (i > kPlacesShown) {
        note(fmt::format("and at {} more places", finding.locations.size() - i));
        break;
      }
      place(finding.locations[i]);
      note("also here");
    }
    for (const Related &related : finding.related) {
      place(related.location);
      note(related.message);
    }
    remedy(finding, location);
    if (!finding.fix.empty()) {
      add("  fix: {}", fixedBy(finding));
      end();
    }
  }

  void summary(std::span<const Finding *const> findings, std::size_t known, std::size_t more) {
    const auto count = [&](Severity severity) {
      return static_cast<std::size_t>(std::ranges::count_if(
          findings, [&](const Finding *finding) { return finding->severity == severity; }));
    };
    if (more) {
      add("{}: {} more findings, which cost less, are not shown here", summary_.tool, more);
      end();
    }
    add("{}: ", headline(summary_));
    const std::string noun = known ? "new finding" : "finding";
    if (findings.empty())
      add("no {}s", noun);
    else
      add("{} ({}, {}, {})", countText(findings.size(), noun),
          countText(count(Severity::kError), "error"),
          countText(count(Severity::kWarning), "warning"),
          countText(count(Severity::kNote), "note"));
    if (known)
      add(", {} known from the baseline", known);
    if (summary_.suppressed)
      add(", {} suppressed", summary_.suppressed);
    end();
    for (const std::string &unused : summary_.unused_suppressions) {
      add("{}: suppression never used: {}", summary_.tool, unused);
      end();
    }
    for (std::size_t i = 0; i < summary_.stale_baseline.size(); ++i) {
      if (i == kStaleShown) {
        add("{}: {} more entries of the baseline are not found any more", summary_.tool,
            summary_.stale_baseline.size() - i);
        end();
        break;
      }
      add("{}: not found any more, take it out of the baseline: {}", summary_.tool,
          summary_.stale_baseline[i]);
      end();
    }
    for (const std::string &text : summary_.notes) {
      add("{}: note: {}", summary_.tool, text);
      end();
    }
  }

  // By library, what happened inside it.
  void folded(const std::map<std::string, std::size_t> &counts) {
    for (const auto &[library, count] : counts) {
      add("{}: {} inside {}, which no code of the project called, {} not shown; --report=FILE.txt "
          "holds all",
          summary_.tool, countText(count, "finding"), library, count == 1 ? "is" : "are");
      end();
    }
  }

  void quiet(std::size_t count) {
    if (!count)
      return;
    add("{}: note: {} not shown; --report=FILE.txt holds all", summary_.tool,
        countText(count, "note"));
    end();
  }

  std::string take() { return lines_.take(); }

private:
  template <typename... Args> void add(fmt::format_string<Args...> format, Args &&...args) {
    add(Style::kPlain, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void add(Style style, fmt::format_string<Args...> format, Args &&...args) {
    lines_.add(style, fmt::format(format, std::forward<Args>(args)...));
  }
  void end() { lines_.end(kContinuation); }

  void note(const std::string &text) {
    add(Style::kHint, "note: ");
    add("{}", text);
    end();
  }

  void severity(const Finding &finding) {
    add(styleOf(finding.severity), "{}: ", name(finding.severity));
  }

  // Once: the tenth finding of a rule needs no tenth advice, but its reader the way to it.
  void remedy(const Finding &finding, const Location &location) {
    const std::string remedy = remedyOf(finding);
    if (remedy.empty())
      return;
    const auto [said, is_new] = advised_.try_emplace(
        remedy, location.file.empty() ? "above"
                                      : "for " + shortName(location.file) + ":" +
                                            std::to_string(location.line) + " above");
    if (is_new)
      add("  remedy: {}", remedy);
    else
      add("  remedy as {}", said->second);
    end();
  }

  void place(const Location &location) {
    if (location.file.empty())
      return;
    std::string text = location.file + ":";
    if (location.line)
      text += fmt::format("{}:", location.line);
    if (location.line && location.column)
      text += fmt::format("{}:", location.column);
    add(Style::kBold, "{}", text);
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
    const auto line = sources_.line(location.file, location.line);
    if (!line)
      return;
    const bool has_caret = location.column && location.column <= line->size() + 1;
    const std::string number = fmt::format("{:5} | ", location.line);
    const std::size_t columns = lines_.columns();
    const Excerpt shown = excerptOf(*line, has_caret ? location.column - 1 : 0,
                                    columns ? columns - number.size() : 0);
    add("{}{}", number, shown.text);
    lines_.end(std::nullopt);
    if (has_caret) {
      add("      | {}", std::string(shown.caret, ' '));
      add(Style::kCaret, "^");
      lines_.end(std::nullopt);
    }
  }

  void framework(const Finding &finding) {
    const Framework inside = frameworkOf(finding);
    if (!inside.called)
      return;
    place(inside.inner->location);
    note(inside.inner == inside.called ? "inside " + inside.called->location.function
                                       : "inside " + inside.called->location.function + ", in " +
                                             inside.inner->location.function);
  }

  void callers(const Finding &finding, const Location &location) {
    std::size_t shown = 0;
    const Frame *own = nearestOwn(finding); // however far it is
    for (const Frame &frame : finding.stack) {
      if (!frame.user || frame.location.file.empty() ||
          (frame.location.file == location.file && frame.location.line == location.line))
        continue;
      if (++shown > kCallersShown && !own)
        break;
      if (shown > kCallersShown && &frame != own)
        continue;
      const bool is_nearest = &frame == own;
      if (is_nearest)
        own = nullptr;
      place(frame.location);
      note("called from " + frame.location.function +
           (is_nearest ? ", the nearest line of your own code" : ""));
    }
  }

  const Summary &summary_;
  Lines lines_;
  std::map<std::string, std::string> advised_; // where each remedy was said
  SourceLines sources_;
};

} // namespace

std::string textReport(std::span<const Finding> findings, const Summary &summary, TextStyle style) {
  std::vector<const Finding *> fresh;
  std::size_t known = 0, quiet = 0;
  std::map<std::string, std::size_t> folded;
  for (const Finding &finding : findings) {
    if (finding.known)
      ++known;
    else if (finding.severity < style.least)
      ++quiet;
    else
      fresh.push_back(&finding);
  }
  // They stand last.
  std::size_t own = fresh.size();
  while (style.folds_libraries && own > 0 && !fresh[own - 1]->library.empty())
    ++folded[fresh[--own]->library];
  const std::size_t shown = std::min(own, style.limit);
  Printer printer(summary, style.terminal);
  printer.cures(std::span(fresh).first(own));
  printer.head(std::span(fresh).first(own));
  for (std::size_t i = 0; i < shown; ++i)
    printer.finding(*fresh[i]);
  printer.summary(fresh, known, own - shown);
  printer.folded(folded);
  printer.quiet(quiet);
  return printer.take();
}

std::string findingsText(std::span<const Finding> findings, const Summary &summary,
                         Terminal terminal) {
  Printer printer(summary, terminal);
  for (const Finding &finding : findings)
    printer.finding(finding);
  return printer.take();
}

std::string summaryText(std::span<const Finding> findings, const Summary &summary,
                        Terminal terminal) {
  std::vector<const Finding *> fresh;
  for (const Finding &finding : findings)
    if (!finding.known)
      fresh.push_back(&finding);
  Printer printer(summary, terminal);
  printer.summary(fresh, findings.size() - fresh.size(), 0);
  return printer.take();
}

} // namespace devsan::core
