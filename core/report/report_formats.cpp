#include "core/report/reports.h"
#include "core/text/plain_stream.h"
#include "core/text/terminal_text.h"

#include <array>
#include <utility>

namespace devsan::core {
namespace {

constexpr std::array<std::pair<std::string_view, ReportFormat>, 7> kFormats = {{
    {"text", ReportFormat::kText},
    {"json", ReportFormat::kJson},
    {"sarif", ReportFormat::kSarif},
    {"github", ReportFormat::kGithub},
    {"html", ReportFormat::kHtml},
    {"junit", ReportFormat::kJunit},
    {"markdown", ReportFormat::kMarkdown},
}};

} // namespace

Result<ReportFormat> parseReportFormat(std::string_view text) {
  std::string valid;
  for (const auto &[name, format] : kFormats) {
    if (name == text)
      return format;
    valid += (valid.empty() ? "" : ", ") + std::string(name);
  }
  return failure("--format=" + std::string(text) + " is unknown; valid: " + valid);
}

std::string headline(const Summary &summary) {
  const std::string verdict = verdictText(summary.verdict);
  return summary.tool + ": " + (verdict.empty() ? "" : verdict + ": ") + summary.subject;
}

void writeReport(std::ostream &out, ReportFormat format, std::span<const Finding> findings,
                 const Summary &summary, TextStyle style) {
  PlainStream json(out, Notation::kJson);
  switch (format) {
  case ReportFormat::kText:
    out << textReport(findings, summary, style);
    break;
  case ReportFormat::kJson:
    writeJsonReport(json, findings, summary);
    break;
  case ReportFormat::kSarif:
    json << sarifReport(findings, summary);
    break;
  case ReportFormat::kGithub:
    out << githubReport(findings, summary);
    break;
  case ReportFormat::kHtml:
    writeHtmlReport(json, findings, summary); // its data is JSON
    break;
  case ReportFormat::kJunit:
    PlainStream(out, Notation::kXml) << junitReport(findings, summary);
    break;
  case ReportFormat::kMarkdown:
    out << printableLines(markdownReport(findings, summary));
    break;
  }
}

} // namespace devsan::core
