// From a directory of event logs to findings: what `devsan run` does when the program has ended,
// and `devsan report` with logs that were kept.
#pragma once

#include "core/finding/finding.h"
#include "core/finding/step_times.h"
#include "core/system/result.h"
#include "runtime/analysis/trace.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace devsan::runtime {

struct Analysis {
  std::vector<core::Finding> findings;     // of all processes, each with its ranks
  std::vector<std::string> notes;          // what is not covered, one sentence each
  std::vector<std::string> unreadable;     // logs that are none, one sentence each
  std::vector<int> ranks;                  // that have a log, ascending
  std::uint64_t processes = 0;             // that have a log
  std::uint64_t steps = 0;                 // of the process that made most
  std::vector<core::StepTimes> step_times; // of the processes that have steps
  bool torch_was_loaded = false;
  bool incomplete = false;    // what the notes say is missing may hold findings
  bool simulated = false;     // the devices take the host's time: blocked times say nothing
  ObservedProcesses observed; // where the settings ask for it
};

struct AnalysisSettings {
  std::filesystem::path symbolizer; // libexec/devsan-symbolize
  // Of the program: paths are shown relative to its repository.
  std::filesystem::path working_directory;
  // Called once for each finding of each process; what it takes is neither merged nor kept.
  std::function<bool(const core::Finding &)> take_away = {};
  // Findings know their events, and what a trace needs is kept.
  bool for_trace = false;
  // What the first process counts as in findings' events: of several analyses for one trace.
  std::uint32_t first_process = 0;
};

// The logs in `directory`, in order of their names. Fails where it cannot be read.
core::Result<std::vector<std::filesystem::path>> logsIn(const std::filesystem::path &directory);

// The logs of one run on one machine, one after the other: memory is that of the largest log and of
// the findings that differ.
Analysis analyse(const std::vector<std::filesystem::path> &logs, const AnalysisSettings &settings);

} // namespace devsan::runtime
