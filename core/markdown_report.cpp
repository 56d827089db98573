#include "core/reports.h"

#include <fmt/format.h>
#include <string>

namespace devsan::core {
namespace {

// GitHub takes 1 MiB a step; the rest stands in the other reports.
constexpr std::size_t kRows = 200;

// In a table's cell: nothing of the program's text is markup, a link or a mention.
std::string cell(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) {
    if (c < 0x20 || c == 0x7f)
      out += ' ';
    else if (std::string_view("\\`*_{}[]()<>#+-.!|~&@:").find(static_cast<char>(c)) !=
             std::string_view::npos)
      out += fmt::format("&#{};", static_cast<unsigned>(c));
    else
      out += static_cast<char>(c);
  }
  return out;
}

std::string placeText(const Finding &finding) {
  if (finding.locations.empty() || finding.locations.front().file.empty())
    return "";
  const Location &place = finding.locations.front();
  return place.file + (place.line ? fmt::format(":{}", place.line) : "");
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

} // namespace

std::string markdownReport(std::span<const Finding> findings, const Summary &summary) {
  std::size_t known = 0, shown = 0;
  for (const Finding &finding : findings)
    known += finding.known;
  const std::size_t fresh = findings.size() - known;
  std::string text = fmt::format("### {}: {}\n\n{}", cell(summary.tool), cell(summary.subject),
                                 fresh ? plural(fresh, known ? "new finding" : "finding")
                                       : std::string(known ? "No new findings" : "No findings"));
  if (known)
    text += fmt::format(", {} known from the baseline", known);
  if (summary.suppressed)
    text += fmt::format(", {} suppressed", summary.suppressed);
  text += "\n\n";
  if (fresh)
    text += "| | Rule | Place | Times | What | Remedy |\n| --- | --- | --- | ---: | --- | --- |\n";
  for (const Finding &finding : findings) {
    if (finding.known)
      continue;
    if (shown++ == kRows) {
      text += fmt::format("\n{} more are in the other reports.\n", fresh - kRows);
      break;
    }
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", name(finding.severity),
                        cell(finding.rule), cell(placeText(finding)), finding.count,
                        cell(finding.message), cell(remedyOf(finding)));
  }
  std::vector<std::string> notes = summary.notes;
  for (const std::string &unused : summary.unused_suppressions)
    notes.push_back("suppression never used: " + unused);
  if (!notes.empty())
    text += "\n";
  for (const std::string &note : notes)
    text += "- " + cell(note) + "\n";
  return text + "\n";
}

} // namespace devsan::core
