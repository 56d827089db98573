#include "core/command/verdict.h"
#include "core/whole_file.h"

namespace devsan::command {

core::Result<void> writeReport(const ReportFile &file, const core::Report &report) {
  return core::writeFile(file.path, [&](std::ostream &out) {
    core::writeReport(out, file.format, report.findings, report.summary, {});
  });
}

core::Result<bool> judge(core::Report &report, const FailureCriteria &failure,
                         core::BaselineFile &baseline, const std::set<core::Origin> &origins) {
  auto &[findings, summary] = report;
  if (core::Result<void> applied = baseline.apply(findings, origins, summary); !applied)
    return tl::unexpected(applied.error());
  for (std::string &sentence : failure.exceededBudgets(findings))
    summary.notes.push_back(std::move(sentence));
  core::rankByCost(findings, summary.basis);
  return failure.failed(findings);
}

} // namespace devsan::command
