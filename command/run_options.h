// The settings of `devsan run`, judged before anything is started: what is wrong is named together
// with what is valid.
#pragma once

#include "command/commands.h"
#include "core/finding/finding.h"
#include "core/project/fail_on.h"
#include "core/report/reports.h"
#include "core/system/result.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace devsan::command {

// Which findings make the run fail: what --fail-on names, and any beyond a rule's budget, which
// replaces --fail-on for its rule. Known findings never count.
struct FailureCriteria : core::FailOn {
  std::map<std::string, std::uint64_t, std::less<>> budgets;
  std::map<std::string, std::uint64_t, std::less<>> step_budgets; // for each step

  // What fails the run, for a verdict: "2 errors", "device-host-sync over its budget".
  std::vector<std::string> reasons(std::span<const core::Finding> findings) const;
  bool failed(std::span<const core::Finding> findings) const { return !reasons(findings).empty(); }
  // One sentence for each budget that the findings exceed, by its rule.
  std::multimap<std::string, std::string>
  exceededBudgets(std::span<const core::Finding> findings) const;
  // Whether notes may be what fails the run, so that its report has to show them.
  bool countsNotes(std::span<const core::Finding> findings) const;
};

struct ReportFile {
  std::filesystem::path path; // absolute; empty: annotations and the job's summary
  core::ReportFormat format;
};

struct RunOptions {
  int simulated_devices = 0; // 0: no simulation
  std::string device_memory; // as the simulator takes it; empty: its default
  bool protect_devices = true;
  bool simulate_over_driver = false; // although this machine has GPUs
  std::string runtime_options;       // for DEVSAN_OPTIONS
  bool lists_keys = false;           // of DEVSAN_OPTIONS, which says help=1
  FailureCriteria failure;
  std::vector<ReportFile> reports;
  std::filesystem::path trace; // absolute; empty: none
  core::ColorMode color = core::ColorMode::kAuto;
};

// `name` is what holds the text: an option, a variable or a key of the project file.
core::Result<int> parseSimulatedDevices(const std::string &name, const std::string &text);
core::Result<std::string> parseDeviceMemory(const std::string &name, const std::string &text);
core::Result<bool> parseSwitch(const std::string &name, const std::string &text);
// These give items of DEVSAN_OPTIONS: "disallow" or "host_to_device:disallow,device_to_host:log" in
// all or single directions; a level for waits; a number of steps.
core::Result<std::string> parseTransferLevels(const std::string &name, const std::string &text);
core::Result<std::string> parseSyncLevel(const std::string &name, const std::string &text);
core::Result<std::string> parseWarmup(const std::string &name, const std::string &text);
// Severities and rules alone, without budgets.
core::Result<FailureCriteria> parseFailOn(const std::string &name, const std::string &text);
core::Result<FailureCriteria> parseFailureCriteria(const std::string &fail_on,
                                                   const std::vector<std::string> &budgets);
core::Result<ReportFile> parseReportFile(const std::string &name, const std::string &path);
// Absolute.
core::Result<std::filesystem::path> parseTraceFile(const std::string &name,
                                                   const std::string &path);
core::Result<RunOptions> parseRunOptions(const RunArguments &arguments);

} // namespace devsan::command
