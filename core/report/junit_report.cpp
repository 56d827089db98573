#include "core/finding/rule_table.h"
#include "core/report/reports.h"

#include <fmt/format.h>

namespace devsan::core {
namespace {

struct Sequence {
  std::size_t length = 1;
  bool is_valid = false; // UTF-8, and a character of XML 1.0
};

Sequence sequenceAt(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
  };
  const unsigned first = byte(i);
  if (first < 0x80)
    return {1, first >= 0x20 || first == '\t' || first == '\n' || first == '\r'};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  std::uint32_t code = length == 4 ? first & 7 : length == 3 ? first & 15 : first & 31;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80)
      return {};
    code = code << 6 | (byte(i + k) & 63);
  }
  const bool is_shortest = length == 2 || (length == 3 && code >= 0x800) ||
                           (length == 4 && code >= 0x10000 && code <= 0x10ffff);
  if (!is_shortest)
    return {};
  return {length, (code < 0xd800 || code > 0xdfff) && code != 0xfffe && code != 0xffff};
}

// Text of the program under test may hold anything; what XML cannot hold is shown as U+FFFD.
std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const Sequence sequence = sequenceAt(text, i);
    if (!sequence.is_valid) {
      out += "\xef\xbf\xbd";
      i += sequence.length;
      continue;
    }
    switch (text[i]) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\n': // else an attribute's value has a space there
      out += "&#10;";
      break;
    case '\r':
      out += "&#13;";
      break;
    case '\t':
      out += "&#9;";
      break;
    default:
      out += text.substr(i, sequence.length);
    }
    i += sequence.length;
  }
  return out;
}

std::string placeText(const Finding &finding) {
  if (finding.locations.empty() || finding.locations.front().file.empty())
    return "no place";
  const Location &place = finding.locations.front();
  return place.file + (place.line ? fmt::format(":{}", place.line) : "") +
         (place.function.empty() ? "" : " in " + place.function);
}

std::string detailsOf(const Finding &finding) {
  std::string text = placeText(finding) + ": " + finding.message;
  for (const Frame &frame : finding.stack)
    if (frame.user)
      text += fmt::format("\n{}:{}: called from {}", frame.location.file, frame.location.line,
                          frame.location.function);
  for (const Related &related : finding.related)
    text +=
        fmt::format("\n{}:{}: {}", related.location.file, related.location.line, related.message);
  if (const std::string advice = adviceOf(finding); !advice.empty())
    text += "\nremedy: " + advice;
  if (findRule(finding.rule))
    text += "\nmore: devsan explain " + finding.rule;
  return text;
}

std::string seconds(std::uint64_t nanoseconds) {
  return fmt::format("{:.6f}", static_cast<double>(nanoseconds) / 1e9);
}

bool fails(const Finding &finding) {
  return !finding.known && finding.library.empty() && finding.severity != Severity::kNote;
}

std::string testCase(const Finding &finding) {
  std::string text =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{}\">\n",
                  escaped(finding.rule), escaped(placeText(finding)), seconds(finding.blocked_ns));
  if (finding.known)
    text += "      <skipped message=\"known from the baseline\"/>\n";
  else if (fails(finding))
    text +=
        fmt::format("      <failure message=\"{}\" type=\"{}\">{}</failure>\n",
                    escaped(finding.message), name(finding.severity), escaped(detailsOf(finding)));
  else
    text += fmt::format("      <system-out>{}</system-out>\n", escaped(detailsOf(finding)));
  return text + "    </testcase>\n";
}

} // namespace

std::string junitReport(std::span<const Finding> findings, const Summary &summary) {
  std::size_t failures = 0, skipped = 0;
  for (const Finding &finding : findings) {
    failures += fails(finding);
    skipped += finding.known;
  }
  // A report without a test is taken for a broken one.
  const std::size_t tests = findings.empty() ? 1 : findings.size();
  const std::string time = seconds(summary.basis.wall_ns);
  const std::string numbers =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\"", tests, failures);
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites name=\"{}\" {} time=\"{}\">\n", escaped(summary.tool), numbers,
                      time);
  text += fmt::format("  <testsuite name=\"{}\" {} skipped=\"{}\" time=\"{}\">\n",
                      escaped(summary.tool + ": " + summary.subject), numbers, skipped, time);
  // The suite's name tells its history by: the verdict is no part of it.
  if (const std::string verdict = verdictText(summary.verdict); !verdict.empty())
    text += fmt::format("    <properties><property name=\"verdict\" value=\"{}\"/></properties>\n",
                        escaped(verdict));
  if (findings.empty())
    text += fmt::format("    <testcase classname=\"devsan\" name=\"no findings\" time=\"{}\"/>\n",
                        time);
  for (const Finding &finding : findings)
    text += testCase(finding);
  std::string notes;
  if (summary.suppressed)
    notes += fmt::format("{} suppressed\n", summary.suppressed);
  for (const std::string &unused : summary.unused_suppressions)
    notes += "suppression never used: " + unused + "\n";
  for (const std::string &stale : summary.stale_baseline)
    notes += "in the baseline, and not found any more: " + stale + "\n";
  for (const std::string &note : summary.notes)
    notes += note + "\n";
  if (!notes.empty())
    text += fmt::format("    <system-out>{}</system-out>\n", escaped(notes));
  return text + "  </testsuite>\n</testsuites>\n";
}

} // namespace devsan::core
