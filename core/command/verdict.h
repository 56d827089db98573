// What `devsan run` and `devsan report` do with findings: the baseline, the order, the failure.
#pragma once

#include "core/baseline.h"
#include "core/command/run_options.h"
#include "core/reports.h"

#include <filesystem>
#include <functional>
#include <ostream>
#include <set>
#include <string>

namespace devsan::command {

struct BaselineFile {
  std::filesystem::path path; // empty: no baseline
  bool update = false;        // make it what was found
  core::Baseline content;
};

// Reads the file, unless it is absent and shall be made.
core::Result<BaselineFile> openBaseline(const std::string &path, bool update);

// Applies the baseline, or updates it where that is asked for, and puts the findings into their
// order; they need fingerprints. `origins` are those that were looked for. Returns whether the
// findings fail the run; a failure to write the baseline is an error.
core::Result<bool> judge(core::Report &report, const FailureCriteria &failure,
                         BaselineFile &baseline, const std::set<core::Origin> &origins);

// Writes a file as a whole: where that fails, what was there is there still. Pipes and devices are
// written to.
core::Result<void> writeFile(const std::filesystem::path &path,
                             const std::function<void(std::ostream &)> &content);
core::Result<void> writeReport(const ReportFile &file, const core::Report &report);

core::Result<std::string> readFile(const std::filesystem::path &path);

} // namespace devsan::command
