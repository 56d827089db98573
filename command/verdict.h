// What `devsan run` and `devsan report` do with findings: the baseline, the order, the failure.
#pragma once

#include "command/run_options.h"
#include "core/report/baseline_file.h"
#include "core/report/reports.h"

#include <set>

namespace devsan::command {

// Applies the baseline, or updates it where that is asked for, and puts the findings into their
// order; they need fingerprints. `origins` are those that were looked for. The summary's verdict is
// that on what was found; a failure to write the baseline is an error.
core::Result<void> judge(core::Report &report, const FailureCriteria &failure,
                         core::BaselineFile &baseline, const std::set<core::Origin> &origins);

// Of what was not seen as a whole, nobody can say that it passed.
void limitToObserved(core::Verdict &verdict, bool is_gate);

// What `devsan run`, were the program's status 0, and `devsan report` end with.
int statusOf(const core::Verdict &verdict);

// To the page of the job in GitHub's CI, where there is one.
core::Result<void> appendJobSummary(const std::string &markdown);

core::Result<void> writeReport(const ReportFile &file, const core::Report &report);

// Where a verdict was asked for and nobody can give one. Returns kCannotStart.
int failWithoutVerdict(const std::string &unseen);

} // namespace devsan::command
