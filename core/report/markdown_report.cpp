#include "core/report/reports.h"
#include "core/text/quantities.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace devsan::core {
namespace {

// GitHub takes 1 MiB a step; the rest stands in the other reports.
constexpr std::size_t kRows = 200;
constexpr std::size_t kTable = 512 << 10; // bytes
constexpr std::size_t kText = 1000;       // bytes of a message, before they are escaped

bool isAlphanumeric(std::string_view text, std::size_t at) {
  return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]));
}

// Within a line: nothing of the program's text is markup, a link or a mention, and what would be
// none anyway stays readable as it is.
std::string inlined(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_word = isAlphanumeric(text, i + 1) && i > 0 && isAlphanumeric(text, i - 1);
    const bool ends_www = i >= 3 && text.substr(i - 3, 3) == "www";
    if (c < 0x20 || c == 0x7f)
      out += ' ';
    else if (std::string_view("\\`*[]~").find(text[i]) != std::string_view::npos ||
             (c == '_' && !is_word))
      out += {'\\', text[i]};
    // A backslash is no help where a cell ends, in HTML, and before what is linked after Markdown
    // has been read.
    else if (std::string_view("<&|@#").find(text[i]) != std::string_view::npos ||
             (c == ':' && text.substr(i + 1, 2) == "//") || (c == '.' && ends_www))
      out += fmt::format("&#{};", static_cast<unsigned>(c));
    else
      out += text[i];
  }
  return out;
}

// What is copied: rules and places.
std::string code(std::string_view text) {
  const bool is_plain = std::ranges::none_of(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '`' || c == '|'; });
  return text.empty() ? "" : is_plain ? fmt::format("`{}`", text) : inlined(text);
}

std::string pathText(const Finding &finding) {
  if (finding.locations.empty() || finding.locations.front().file.empty())
    return "";
  const Location &place = finding.locations.front();
  return place.file + (place.line ? fmt::format(":{}", place.line) : "");
}

std::size_t countOf(std::span<const Since> since, Since::Kind kind) {
  return static_cast<std::size_t>(std::ranges::count(since, kind, &Since::kind));
}

std::string countsText(std::span<const Finding> findings, std::span<const Since> since) {
  if (!since.empty())
    return fmt::format("{}, {} gone, {} changed, {} the same",
                       countText(countOf(since, Since::Kind::kNew), "new finding"),
                       countOf(since, Since::Kind::kGone), countOf(since, Since::Kind::kChanged),
                       countOf(since, Since::Kind::kSame));
  const auto known = static_cast<std::size_t>(std::ranges::count(findings, true, &Finding::known));
  const std::size_t fresh = findings.size() - known;
  std::string text = fresh   ? countText(fresh, known ? "new finding" : "finding")
                     : known ? "No new findings"
                             : "No findings";
  return known ? text + fmt::format(", {} known from the baseline", known) : text;
}

std::string row(const Finding &finding, const Since *since) {
  const std::string what = since && !since->change.empty()
                               ? fmt::format("{}: {}", since->change, finding.message)
                               : finding.message;
  return fmt::format(
      "| {}{} | {} | {} | {} | {} | {} |\n", since ? fmt::format("{}, ", name(since->kind)) : "",
      name(finding.severity), code(cut(finding.rule, kText)), code(cut(pathText(finding), kText)),
      finding.count, inlined(cut(what, kText)), inlined(cut(adviceOf(finding), kText)));
}

} // namespace

std::string markdownReport(std::span<const Finding> findings, const Summary &summary,
                           std::span<const Since> since) {
  std::string text = fmt::format("### {}\n\n{}", inlined(cut(headline(summary), kText)),
                                 countsText(findings, since));
  if (summary.suppressed)
    text += fmt::format(", {} suppressed", summary.suppressed);
  text += "\n\n";
  std::string rows;
  std::size_t shown = 0, more = 0;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].known || (!since.empty() && since[i].kind == Since::Kind::kSame))
      continue;
    if (shown == kRows || rows.size() > kTable) {
      ++more;
      continue;
    }
    rows += row(findings[i], since.empty() ? nullptr : &since[i]);
    ++shown;
  }
  if (shown)
    text += "| | Rule | Place | Times | What | Remedy |\n| --- | --- | --- | ---: | --- | --- |\n" +
            rows;
  if (more)
    text += fmt::format("\n{} more are in the other reports.\n", more);
  std::vector<std::string> notes;
  for (const std::string &note : summary.notes)
    notes.push_back("note: " + note);
  for (const std::string &unused : summary.unused_suppressions)
    notes.push_back("suppression never used: " + unused);
  if (!notes.empty())
    text += "\n";
  for (const std::string &note : notes)
    text += "- " + inlined(cut(note, kText)) + "\n";
  return text + "\n";
}

} // namespace devsan::core
