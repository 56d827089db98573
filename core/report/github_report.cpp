#include "core/finding/ownership.h"
#include "core/report/reports.h"
#include "core/text/terminal_text.h"

#include <algorithm>
#include <fmt/format.h>

namespace devsan::core {
namespace {

std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text)
    result += special.find(c) != special.npos
                  ? fmt::format("%{:02X}", static_cast<unsigned char>(c))
                  : std::string(1, c);
  return result;
}

std::string escapedText(std::string_view text) {
  return escaped(printableLines(text), "%\r\n");
}

std::string escapedProperty(std::string_view text) {
  return escaped(printable(text), "%\r\n:,");
}

std::string_view level(Severity severity) {
  switch (severity) {
  case Severity::kNote:
    return "notice";
  case Severity::kWarning:
    return "warning";
  case Severity::kError:
    return "error";
  }
  return {};
}

std::string annotation(const Finding &finding) {
  std::string line = fmt::format("::{} ", level(finding.severity));
  // What is not in the repository, nobody sees there.
  if (const Location place = ownPlace(finding); !place.file.empty()) {
    line += fmt::format("file={},", escapedProperty(place.file));
    if (place.line)
      line += fmt::format("line={},", place.line);
    if (place.column)
      line += fmt::format("col={},", place.column);
  }
  std::string text = finding.message;
  if (nearestOwn(finding))
    text += fmt::format("\n{}:{}: here", finding.locations.front().file,
                        finding.locations.front().line);
  for (const Related &other : finding.related)
    text += fmt::format("\n{}:{}: {}", other.location.file, other.location.line, other.message);
  if (const std::string advice = adviceOf(finding); !advice.empty())
    text += "\nremedy: " + advice;
  return line + fmt::format("title={}::{}\n", escapedProperty(finding.rule), escapedText(text));
}

} // namespace

std::string githubReport(std::span<const Finding> findings, const Summary &summary) {
  std::string report;
  std::size_t known = 0;
  for (const Finding &finding : findings) {
    known += finding.known;
    if (!finding.known)
      report += annotation(finding);
  }
  const std::size_t count = findings.size() - known;
  // A line that is no command is the log's.
  report += printable(fmt::format("{}: {} finding{}, {} known, {} suppressed", headline(summary),
                                  count, count == 1 ? "" : "s", known, summary.suppressed)) +
            "\n";
  for (const std::string &note : summary.notes)
    report +=
        fmt::format("::notice title={}::{}\n", escapedProperty(summary.tool), escapedText(note));
  for (const std::string &unused : summary.unused_suppressions)
    report += fmt::format("::notice title={}::suppression never used: {}\n",
                          escapedProperty(summary.tool), escapedText(unused));
  for (const std::string &gone : summary.stale_baseline)
    report += fmt::format("::notice title={}::in the baseline, and not found any more: {}\n",
                          escapedProperty(summary.tool), escapedText(gone));
  return report;
}

} // namespace devsan::core
