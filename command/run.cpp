#include "command/allowed.h"
#include "command/commands.h"
#include "command/install/real_driver.h"
#include "command/install/runtime_cache.h"
#include "command/observed.h"
#include "command/process/keeper.h"
#include "command/process/launch.h"
#include "command/process/shown_command.h"
#include "command/project.h"
#include "command/run_board.h"
#include "command/run_folder.h"
#include "command/run_options.h"
#include "command/trace_file.h"
#include "command/verdict.h"
#include "core/finding/fingerprint.h"
#include "core/report/reports.h"
#include "core/system/project_root.h"
#include "core/system/whole_file.h"
#include "runtime/analysis/analysis.h"
#include "runtime/protocol/options.h"
#include "runtime/protocol/run_board.h"
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
constexpr unsigned kSecondsOfReport = 300; // beside those for the size of the logs

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
                                         const fs::path &logs, const RunBoard &board) {
  std::vector<fs::path> needed = {tree.preload(), tree.runtime()};
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
      {DEVSAN_RUN_BOARD, board.name()},
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
                           .limit = kShownOnTerminal,
                           .folds_libraries = true});
}

// The logs of the run, which are all there now. Where there is no folder any more, there are none.
std::vector<fs::path> logsOf(const RunFolder &folder) {
  return runtime::logsIn(folder.path()).value_or(std::vector<fs::path>());
}

std::string howItEnded(const std::string &program, const ProgramRun &run) {
  if (run.devsan_was_killed)
    return "`devsan run` was killed, and how " + program +
           " ended is not known: the report covers what was recorded";
  return program +
         (run.end.signal ? " was ended by signal " + std::to_string(run.end.signal)
                         : " ended with status " + std::to_string(run.end.status)) +
         ": the report covers what ran before";
}

// All that is needed once the program has ended.
struct Run {
  const InstallTree &tree;
  const RunArguments &arguments;
  const RunOptions &options;
  FindingFilter filter;
  core::BaselineFile baseline;
  RunFacts facts;
  RunFolder folder;
  RunBoard board;

  // Whether a verdict was asked for, which nobody can give who has not seen everything.
  bool isGate() const {
    return arguments.strict.value_or(false) || arguments.update_baseline ||
           (arguments.fail_on && *arguments.fail_on != "none") ||
           !options.failure.budgets.empty() || !options.failure.step_budgets.empty();
  }
};

// `because` of a program that failed itself, whose status is the run's.
void addEnd(core::Verdict &verdict, const ProgramEnd &end) {
  if (!end.signal && !end.status)
    return;
  verdict.outcome = core::Verdict::Outcome::kFailed;
  verdict.because += verdict.because.empty() ? "" : " and ";
  verdict.because += end.signal ? "signal " + std::to_string(end.signal)
                                : "the program's status " + std::to_string(end.status);
}

// To the terminal and to the files. Returns what the verdict comes to, were the program's status 0.
int writeReports(const Run &run, const core::Report &report, const core::Result<void> &judged,
                 const runtime::ObservedProcesses &observed) {
  // The program's own output first, whole: both may go to one file.
  const core::Terminal terminal = core::terminalOf(STDERR_FILENO, run.options.color);
  std::fputs(run.arguments.quiet
                 ? core::summaryText(report.findings, report.summary, terminal).c_str()
                 : terminalReport(report, run.options.failure, terminal).c_str(),
             stderr);
  int status = judged ? statusOf(report.summary.verdict) : fail(judged.error().message);
  for (const ReportFile &file : run.options.reports)
    if (core::Result<void> written = writeReport(file, report); !written)
      status = fail(written.error().message);
  if (!run.options.trace.empty())
    if (core::Result<void> written = writeTraceFile(run.options.trace, {&observed, 1}, report);
        !written)
      status = fail(written.error().message);
  return status;
}

void take(RunFacts &facts, const ProgramRun &program) {
  facts.wall_ns = program.wall_ns;
  facts.ended_early = program.end.signal || program.end.status || program.devsan_was_killed;
}

core::Summary summaryOf(const Run &run) {
  core::Summary summary;
  summary.tool = "devsan run";
  summary.subject = run.facts.command;
  return summary;
}

// The status of `devsan run`, were the program's 0.
int reportRun(Run &run, const ProgramRun &program) {
  core::ignoreWriteSignals();
  run.board.close();
  const std::vector<fs::path> logs = logsOf(run.folder);
  run.facts.missing = run.board.missing(logs.size());
  take(run.facts, program);
  const core::Result<void> facts_written = run.folder.write(run.facts);
  core::Report report{{}, summaryOf(run)};
  core::Summary &summary = report.summary;
  summary.notes = run.facts.missing;
  // The findings' paths are relative to the project's root, and what follows reads the lines.
  enterProjectRoot();
  runtime::Analysis analysis =
      runtime::analyse(logs, {run.tree.symbolizer(), run.facts.working_directory,
                              run.filter.function(), !run.options.trace.empty()});
  const bool was_observed = analysis.torch_was_loaded;
  const bool is_incomplete = analysis.incomplete || !run.facts.missing.empty();
  runtime::ObservedProcesses observed = std::move(analysis.observed);
  const std::string &name = run.arguments.command.front();
  if (was_observed) {
    summary.unused_suppressions = run.filter.unused(analysis.simulated);
    takeAnalysis(report, std::move(analysis), run.facts, run.filter.ownership());
  } else if (run.facts.missing.empty()) {
    const std::size_t inner = innerRuns(run.folder.path());
    summary.notes.push_back(
        inner ? fmt::format("nothing was observed here: {} `devsan run` inside {} reported for {}",
                            inner, name, inner == 1 ? "itself" : "themselves")
              : "LibTorch was never loaded by " + name + ": nothing was observed");
  }
  summary.suppressed = run.filter.suppressed() + takeAllowed(run.folder.path(), report.findings);
  summary.partial = run.facts.ended_early || !was_observed || is_incomplete;
  const std::string what_is_missing = summary.notes.empty() ? "" : summary.notes.front();
  if (run.facts.ended_early)
    summary.notes.push_back(howItEnded(name, program));
  core::assignFingerprints(report.findings);
  const core::Result<void> judged =
      judge(report, run.options.failure, run.baseline, {core::Origin::kRuntime});
  const bool is_strict = run.arguments.strict.value_or(false);
  if (is_incomplete || program.devsan_was_killed)
    limitToObserved(summary.verdict, run.isGate());
  if (!was_observed)
    limitToObserved(summary.verdict, is_strict);
  const bool lacks_verdict =
      judged && summary.verdict.outcome == core::Verdict::Outcome::kNoVerdict;
  addEnd(summary.verdict, program.end);
  int status = writeReports(run, report, judged, observed);
  if (const char *outer = std::getenv("DEVSAN_LOG_DIR"); outer && *outer && was_observed)
    noteInnerRun(outer);
  if (!facts_written)
    status = fail(facts_written.error().message);
  if (!was_observed && is_strict)
    return fail("nothing was observed, and --strict was given or set in .devsan.toml; programs "
                "that are linked statically cannot be observed");
  if (lacks_verdict && !run.facts.ended_early)
    status = failWithoutVerdict(what_is_missing);
  return status;
}

// Where there is nobody to make the report: that there is none, in the place of each.
int reportNothing(Run &run, const ProgramRun &program, const std::string &why) {
  core::ignoreWriteSignals();
  run.board.close();
  take(run.facts, program);
  run.facts.missing.push_back(why);
  core::Report report{{}, summaryOf(run)};
  report.summary.notes = run.facts.missing;
  report.summary.partial = true;
  core::Verdict &verdict = report.summary.verdict;
  verdict.outcome = core::Verdict::Outcome::kPassed;
  limitToObserved(verdict, run.isGate());
  addEnd(verdict, program.end);
  const core::Result<void> facts_written = run.folder.write(run.facts);
  int status = writeReports(run, report, {}, {});
  if (!facts_written)
    status = fail(facts_written.error().message);
  if (verdict.outcome == core::Verdict::Outcome::kNoVerdict)
    failWithoutVerdict(why);
  return status;
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
  core::Result<core::BaselineFile> baseline = core::BaselineFile::open(
      arguments.baseline, arguments.update_baseline, arguments.baseline_is_found);
  if (!baseline)
    return fail(baseline.error().message);
  if (core::Result<void> good = tryReports(*options); !good)
    return fail(good.error().message);
  core::Result<RunFolder> folder = RunFolder::make(arguments.keep_logs);
  if (!folder)
    return fail(folder.error().message);
  std::error_code error;
  std::optional<Run> run(
      std::in_place, Run{tree,
                         arguments,
                         *options,
                         FindingFilter(std::move(*suppressions), core::Ownership(arguments.own)),
                         std::move(*baseline),
                         {shownCommand(arguments.command), fs::current_path(error)},
                         std::move(*folder),
                         {}});
  core::Result<Environment> environment =
      environmentFor(tree, *options, run->folder.path(), run->board);
  if (!environment)
    return fail(environment.error().message);
  if (core::Result<void> written = run->folder.write(run->facts); !written)
    return fail(written.error().message);
  std::fflush(nullptr);
  const auto start = std::chrono::steady_clock::now();
  Keeper keeper(
      [&](const ProgramRun &program) {
        struct CleanUp {
          std::optional<Run> &run;
          ~CleanUp() { run.reset(); }
        } clean_up{run};
        return reportRun(*run, program);
      },
      [&] { return boundsFor(logsOf(run->folder), kSecondsOfReport); });
  const core::Result<ProgramEnd> end =
      launch(arguments.command, *environment, [&](pid_t pid) { keeper.programStarted(pid); });
  if (!end)
    return fail(end.error().message);
  const auto wall = std::chrono::steady_clock::now() - start;
  const ProgramRun program = {*end,
                              static_cast<std::uint64_t>(std::chrono::nanoseconds(wall).count())};
  core::Result<int> status = keeper.finish(program, [&] {
    run->board.close();
    run.reset();
  });
  if (!status)
    status =
        run ? reportNothing(*run, program, status.error().message) : fail(status.error().message);
  run.reset();
  if (end->signal)
    endBySignal(end->signal);
  return end->status ? end->status : *status;
}

} // namespace devsan::command
