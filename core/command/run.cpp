#include "core/command/commands.h"
#include "core/command/launch.h"
#include "core/command/observed.h"
#include "core/command/project.h"
#include "core/command/real_driver.h"
#include "core/command/run_folder.h"
#include "core/command/run_options.h"
#include "core/command/runtime_cache.h"
#include "core/command/shown_command.h"
#include "core/command/trace_file.h"
#include "core/command/verdict.h"
#include "core/fingerprint.h"
#include "core/project_root.h"
#include "core/reports.h"
#include "core/whole_file.h"
#include "runtime/hooks/options.h"
#include "runtime/offline/analysis.h"
#include "runtime/sim/memory/memory_size.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace devsan::command {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownOnTerminal = 100;

// Before the run: an hour of training must not end with a report that cannot be written.
core::Result<void> tryReports(const RunOptions &options) {
  for (const ReportFile &report : options.reports)
    if (!report.path.empty())
      if (core::Result<void> good = core::tryToWriteFile(report.path, "the report"); !good)
        return good;
  return options.trace.empty() ? core::Result<void>()
                               : core::tryToWriteFile(options.trace, "the trace");
}

// `added` joined to what the variable holds already, before or after it.
std::string joined(const char *variable, const std::string &added, bool before) {
  const char *present = std::getenv(variable);
  if (!present || !*present)
    return added;
  return before ? added + ":" + present : std::string(present) + ":" + added;
}

// Of several shims, those of runs around this one, only ours is needed, and once.
std::string preloadWith(const fs::path &shim) {
  const char *present = std::getenv("LD_PRELOAD");
  std::string kept;
  std::string rest = present ? present : "";
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(": ");
    const fs::path item = rest.substr(0, end);
    if (!item.empty() && item.filename() != shim.filename())
      kept += item.string() + ":";
    rest.erase(0, end == std::string::npos ? rest.size() : end + 1);
  }
  return kept + shim.string();
}

// A run inside a run: this one's settings hold for its program, and the outer one sees nothing of
// it, except that the simulated devices stay where this one does not ask for any.
int devicesOfOuterRun(const RunOptions &options) {
  const char *outer = std::getenv("DEVSAN_LOG_DIR");
  if (!outer || !*outer)
    return 0;
  const char *text = std::getenv("DEVSAN_SIM_DEVICES");
  core::Result<int> devices = parseSimulatedDevices("DEVSAN_SIM_DEVICES", text ? text : "");
  const int count = devices ? *devices : 0;
  std::string sentence =
      "this `devsan run` runs inside another one; the program is reported here only";
  if (options.simulated_devices && count && options.simulated_devices != count)
    sentence += ", and has " + std::to_string(options.simulated_devices) +
                " simulated devices instead of the outer run's " + std::to_string(count);
  std::fprintf(stderr, "devsan: note: %s\n", core::printableLines(sentence).c_str());
  return count;
}

core::Result<Environment> environmentFor(const InstallTree &tree, const RunOptions &options,
                                         const fs::path &logs) {
  std::vector<fs::path> needed = {tree.preload(), tree.runtime(), tree.symbolizer()};
  std::string libraries = tree.runtime();
  const int outer_devices = devicesOfOuterRun(options);
  const int devices = options.simulated_devices ? options.simulated_devices : outer_devices;
  if (devices > 0) {
    needed.push_back(tree.simulator());
    libraries = tree.simulator().string() + ":" + libraries;
  }
  std::error_code error;
  for (const fs::path &path : needed)
    if (!fs::exists(path, error))
      return core::failure("no " + path.string() + ": `devsan doctor` shows what is missing");
  // The loader splits LD_PRELOAD there, and would only warn.
  if (tree.preload().string().find_first_of(" :") != std::string::npos)
    return core::failure("the path " + tree.preload().string() +
                         " holds a space or a colon, which LD_PRELOAD cannot; move DevSan to a "
                         "folder without");
  core::Result<RuntimeSources> sources = readRuntimeSources(tree);
  if (!sources)
    return tl::unexpected(sources.error());
  Environment environment = {
      // Appended: AddressSanitizer's runtime must stay first.
      {"LD_PRELOAD", preloadWith(tree.preload())},
      {"DEVSAN_LOG_DIR", logs},
      {"DEVSAN_LIBS", libraries},
      {"PYTHONPATH", joined("PYTHONPATH", tree.python(), true)},
      // For Python that ignores PYTHONPATH.
      {"DEVSAN_PYTHON_PATH", tree.python()},
      // Where the program's LibTorch is another one than ours.
      {"DEVSAN_TORCH_ID", sources->torch_id},
      {"DEVSAN_BUILDER", tree.program()},
  };
  if (devices > 0)
    environment.emplace_back("DEVSAN_SIM_DEVICES", std::to_string(devices));
  if (devices > 0)
    environment.emplace_back("DEVSAN_CUDA_STANDIN", tree.cuda());
  if (options.simulated_devices > 0) {
    environment.emplace_back("DEVSAN_SIM_REAL_DRIVER",
                             options.simulate_over_driver ? "" : realDriver("/").string());
    environment.emplace_back("DEVSAN_SIM_PROTECT", options.protect_devices ? "on" : "off");
    if (!options.device_memory.empty())
      // In bytes, for those who know no units.
      environment.emplace_back("DEVSAN_SIM_MEMORY",
                               std::to_string(*sim::parseMemorySize(options.device_memory)));
  }
  if (!options.runtime_options.empty() || options.lists_keys) {
    std::string items = joined("DEVSAN_OPTIONS", options.runtime_options, true);
    if (options.lists_keys) // done here, once, and not by each process
      items += ":help=0";
    environment.emplace_back("DEVSAN_OPTIONS", items);
  }
  return environment;
}

void enterProjectRoot() {
  std::error_code error;
  const fs::path root = core::projectRootOf(fs::current_path(error));
  if (!error)
    fs::current_path(root, error);
}

// What the terminal gets. Single host syncs that the program spells out are only notes: most
// programs have some, and they would bury the rest. Where they may fail the run, they are shown.
std::string terminalReport(const core::Report &report, const FailureCriteria &failure,
                           core::Terminal terminal) {
  const bool notes = failure.countsNotes(report.findings);
  return core::textReport(report.findings, report.summary,
                          {.terminal = terminal,
                           .least = notes ? core::Severity::kNote : core::Severity::kWarning,
                           .limit = kShownOnTerminal});
}

core::Result<runtime::Analysis> analyseRun(const RunFolder &folder, const InstallTree &tree,
                                           const fs::path &working_directory,
                                           std::function<bool(const core::Finding &)> take_away,
                                           bool for_trace) {
  core::Result<std::vector<fs::path>> logs = runtime::logsIn(folder.path());
  if (!logs)
    return tl::unexpected(logs.error());
  return runtime::analyse(*logs,
                          {tree.symbolizer(), working_directory, std::move(take_away), for_trace});
}

std::string howItEnded(const std::string &program, const ProgramEnd &end) {
  return program +
         (end.signal ? " was ended by signal " + std::to_string(end.signal)
                     : " ended with status " + std::to_string(end.status)) +
         ": the report covers what ran before";
}

} // namespace

int run(const InstallTree &tree, RunArguments arguments) {
  if (arguments.command.empty())
    return fail("no command; write it after `--`, as in `devsan run --sim=2 -- ./train`");
  if (core::Result<void> applied = applyProjectFile(arguments); !applied)
    return fail(applied.error().message);
  core::Result<RunOptions> options = parseRunOptions(arguments);
  if (!options)
    return fail(options.error().message);
  if (options->lists_keys)
    std::fprintf(stderr, "%s\n", runtime::listOfKeys().c_str());
  core::Result<core::Suppressions> suppressions = readSuppressions(arguments.suppressions);
  if (!suppressions)
    return fail(suppressions.error().message);
  core::Result<core::BaselineFile> baseline =
      core::BaselineFile::open(arguments.baseline, arguments.update_baseline);
  if (!baseline)
    return fail(baseline.error().message);
  if (core::Result<void> good = tryReports(*options); !good)
    return fail(good.error().message);
  std::optional<RunFolder> folder;
  if (core::Result<RunFolder> made = RunFolder::make(arguments.keep_logs))
    folder.emplace(std::move(*made));
  else
    return fail(made.error().message);
  core::Result<Environment> environment = environmentFor(tree, *options, folder->path());
  if (!environment)
    return fail(environment.error().message);

  std::error_code error;
  RunFacts facts{shownCommand(arguments.command), fs::current_path(error)};
  if (core::Result<void> written = folder->write(facts); !written)
    return fail(written.error().message);
  std::fflush(nullptr);
  const auto start = std::chrono::steady_clock::now();
  core::Result<ProgramEnd> end = launch(arguments.command, *environment);
  if (!end)
    return fail(end.error().message);
  core::outliveFailedWrites();
  facts.wall_ns = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  facts.ended_early = end->signal || end->status;

  int status = kSuccess;
  if (core::Result<void> written = folder->write(facts); !written)
    status = fail(written.error().message);
  core::Report report;
  core::Summary &summary = report.summary;
  summary.tool = "devsan run";
  summary.subject = facts.command;
  // The findings' paths are relative to the project's root, and what follows reads the lines.
  enterProjectRoot();
  FindingFilter filter(std::move(*suppressions));
  core::Result<runtime::Analysis> analysis = analyseRun(*folder, tree, facts.working_directory,
                                                        filter.function(), !options->trace.empty());
  const bool was_observed = analysis && analysis->torch_was_loaded;
  runtime::ObservedProcesses observed;
  if (!analysis) {
    status = fail(analysis.error().message);
  } else if (was_observed) {
    summary.unused_suppressions = filter.unused(analysis->simulated);
    observed = std::move(analysis->observed);
    takeAnalysis(report, std::move(*analysis), facts);
  } else {
    summary.notes.push_back("LibTorch was never loaded by " + arguments.command.front() +
                            ": nothing was observed");
  }
  summary.suppressed = filter.suppressed();
  summary.partial = facts.ended_early || !was_observed;
  if (facts.ended_early)
    summary.notes.push_back(howItEnded(arguments.command.front(), *end));
  core::assignFingerprints(report.findings);
  const core::Result<bool> failed =
      judge(report, options->failure, *baseline, {core::Origin::kRuntime});

  // The program's own output first, whole: both may go to one file.
  const core::Terminal terminal = core::terminalOf(STDERR_FILENO, options->color);
  std::fputs(arguments.quiet ? core::summaryText(report.findings, summary, terminal).c_str()
                             : terminalReport(report, options->failure, terminal).c_str(),
             stderr);
  if (!failed)
    status = fail(failed.error().message);
  else if (*failed && status == kSuccess)
    status = kFindings;
  if (analysis && !was_observed && arguments.strict.value_or(false))
    status =
        fail("nothing was observed, and the run is strict; programs that are linked statically "
             "cannot be observed");
  for (const ReportFile &file : options->reports)
    if (core::Result<void> written = writeReport(file, report); !written)
      status = fail(written.error().message);
  if (!options->trace.empty())
    if (core::Result<void> written = writeTraceFile(options->trace, {&observed, 1}, report);
        !written)
      status = fail(written.error().message);
  if (end->signal) {
    folder.reset();
    endBySignal(end->signal);
  }
  return end->status ? end->status : status;
}

} // namespace devsan::command
