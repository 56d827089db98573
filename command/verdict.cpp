#include "command/verdict.h"
#include "core/finding/nolint.h"
#include "core/system/whole_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace devsan::command {

core::Result<void> appendJobSummary(const std::string &markdown) {
  const char *path = std::getenv("GITHUB_STEP_SUMMARY");
  if (!path || !*path)
    return {};
  // Appended: other commands of the step have theirs.
  std::ofstream stream(path, std::ios::app);
  stream << markdown;
  if (!stream.flush())
    return core::failure("cannot write the job's summary " + std::string(path) +
                         " (GITHUB_STEP_SUMMARY): " + std::strerror(errno));
  return {};
}

core::Result<void> writeReport(const ReportFile &file, const core::Report &report) {
  if (file.path.empty()) {
    // The program's output is on stdout; the runner reads commands from both.
    std::fputs(core::githubReport(report.findings, report.summary).c_str(), stderr);
    return appendJobSummary(core::markdownReport(report.findings, report.summary));
  }
  return core::writeFile(file.path, [&](std::ostream &out) {
    core::writeReport(out, file.format, report.findings, report.summary, {});
  });
}

void limitToObserved(core::Verdict &verdict, bool is_gate) {
  if (verdict.outcome == core::Verdict::Outcome::kPassed)
    verdict.outcome =
        is_gate ? core::Verdict::Outcome::kNoVerdict : core::Verdict::Outcome::kPassedInPart;
}

int statusOf(const core::Verdict &verdict) {
  return core::exitStatus(verdict, kFindings);
}

int failWithoutVerdict(const std::string &unseen) {
  return fail("no verdict, because not everything was seen: " + unseen);
}

core::Result<void> judge(core::Report &report, const FailureCriteria &failure,
                         core::BaselineFile &baseline, const std::set<core::Origin> &origins) {
  auto &[findings, summary] = report;
  summary.verdict = {core::Verdict::Outcome::kNoVerdict}; // until there is one
  if (core::Result<void> applied = baseline.apply(findings, origins, summary); !applied)
    return tl::unexpected(applied.error());
  for (auto &[rule, sentence] : failure.exceededBudgets(findings))
    summary.notes.push_back(sentence);
  core::SourceLines lines(summary.sources_below);
  std::ranges::move(core::mistakenNolints(findings, lines), std::back_inserter(summary.notes));
  core::rankByCost(findings, summary.basis);
  summary.verdict = core::verdictFor(failure.reasons(findings));
  return {};
}

} // namespace devsan::command
