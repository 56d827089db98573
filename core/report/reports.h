// Reports turn findings into text. One function per format; none of them decides anything. `devsan
// check`, `devsan run` and `devsan report` call them.
#pragma once

#include "core/finding/cost.h"
#include "core/finding/finding.h"
#include "core/finding/step_times.h"
#include "core/finding/verdict.h"
#include "core/system/result.h"
#include "core/text/terminal_text.h"

#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace devsan::core {

// What a report says beside its findings.
struct Summary {
  std::string tool;             // "devsan check", "devsan run"
  std::string subject;          // what was looked at: "12 files", "./train --epochs 1"
  std::uint64_t suppressed = 0; // findings that a suppression took away
  std::vector<std::string> unused_suppressions = {};
  std::vector<std::string> notes = {}; // what was not covered, one sentence each
  std::vector<int> ranks = {};         // that were looked at, ascending
  CostBasis basis = {};
  std::vector<std::string> stale_baseline = {}; // entries that no finding stands for
  bool partial = false; // not all was looked at: what was not found may still be there
  std::vector<StepTimes> step_times = {}; // of the processes that have steps
  Verdict verdict = {};
  // Lines of files elsewhere are not shown; empty: of any. Not part of a report.
  std::string sources_below = {};
};

// "devsan run: failed because of 1 error: ./a.out".
std::string headline(const Summary &summary);

struct TextStyle {
  Terminal terminal = {};
  // Findings below this severity, or beyond so many, are only counted.
  Severity least = Severity::kNote;
  std::size_t limit = static_cast<std::size_t>(-1);
  bool folds_libraries = false; // a line for each, of what happened inside it
};

// clang's form, `path:line:col: warning: message [device-bare-cuda]`, callers, related places and
// remedy as notes; at the head what to fix first where there are many. Known findings are counted
// only. The summary's notes come last.
std::string textReport(std::span<const Finding> findings, const Summary &summary,
                       TextStyle style = {});

// The findings alone, in their order, or what stands below them alone.
std::string findingsText(std::span<const Finding> findings, const Summary &summary = {},
                         Terminal terminal = {});
std::string summaryText(std::span<const Finding> findings, const Summary &summary,
                        Terminal terminal = {});

// Schema devsan/1.
std::string jsonReport(std::span<const Finding> findings, const Summary &summary);
void writeJsonReport(std::ostream &out, std::span<const Finding> findings, const Summary &summary);

// What became of a finding since an earlier report.
struct Since {
  enum class Kind { kNew, kChanged, kGone, kSame } kind = Kind::kNew;
  std::string change = {}; // "3 times → 5 times", of one that has changed
};
std::string_view name(Since::Kind kind);

// SARIF 2.1.0. Relative paths must be relative to the current folder, for what the sources tell.
std::string sarifReport(std::span<const Finding> findings, const Summary &summary);

// One HTML file for a browser, which needs nothing else, with the lines around each place that lies
// below the current folder. `since`: of each finding, or none.
void writeHtmlReport(std::ostream &out, std::span<const Finding> findings, const Summary &summary,
                     std::span<const Since> since = {});

// Annotations of GitHub's CI (`::warning file=…`) of what is not known, then the summary.
std::string githubReport(std::span<const Finding> findings, const Summary &summary);

// JUnit XML, for CI that shows tests: each finding is a test case, and a failed one unless it is a
// note or known.
std::string junitReport(std::span<const Finding> findings, const Summary &summary);

// A table in Markdown, for the page of a job. `since`: of each finding, or none; what is the same
// is only counted.
std::string markdownReport(std::span<const Finding> findings, const Summary &summary,
                           std::span<const Since> since = {});

enum class ReportFormat { kText, kJson, kSarif, kGithub, kHtml, kJunit, kMarkdown };

// The value of --format; what is unknown is an error that lists the valid ones.
Result<ReportFormat> parseReportFormat(std::string_view text);
void writeReport(std::ostream &out, ReportFormat format, std::span<const Finding> findings,
                 const Summary &summary, TextStyle style = {});

struct Report {
  std::vector<Finding> findings;
  Summary summary;
};

// `source` names the input in errors. Nothing of a malformed report is returned.
Result<Report> readReport(std::string_view text, const std::string &source);
Result<std::vector<Finding>> readJsonReport(const std::string &text, const std::string &source);

} // namespace devsan::core
