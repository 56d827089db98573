#include "core/command/commands.h"
#include "core/command/launch.h"
#include "core/command/run_options.h"
#include "core/command/runtime_cache.h"
#include "core/fingerprint.h"
#include "core/nolint.h"
#include "core/reports.h"
#include "core/suppressions.h"
#include "runtime/offline/analysis.h"
#include "runtime/offline/source_paths.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <tuple>
#include <unistd.h>

namespace devsan::command {
namespace {

namespace fs = std::filesystem;

core::Result<std::string> readFile(const fs::path &path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return core::failure("cannot read " + path.string() + ": it is a directory");
  std::ifstream stream(path);
  if (!stream)
    return core::failure("cannot read " + path.string() + ": " + std::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// The nearest .devsan.toml from the working directory upwards; empty where there is none.
fs::path projectFile() {
  std::error_code error;
  for (fs::path directory = fs::current_path(error); !directory.empty();
       directory = directory.parent_path()) {
    if (fs::is_regular_file(directory / ".devsan.toml", error))
      return directory / ".devsan.toml";
    if (directory == directory.parent_path())
      break;
  }
  return {};
}

core::Result<core::Suppressions> readSuppressions(const std::vector<std::string> &files) {
  core::Suppressions suppressions;
  auto add = [&](const fs::path &path, const std::string &table) -> core::Result<void> {
    core::Result<std::string> text = readFile(path);
    if (!text)
      return tl::unexpected(text.error());
    return suppressions.add(*text, path, table);
  };
  if (const fs::path project = projectFile(); !project.empty())
    if (core::Result<void> added = add(project, "suppressions"); !added)
      return tl::unexpected(added.error());
  for (const std::string &file : files)
    if (core::Result<void> added = add(file, ""); !added)
      return tl::unexpected(added.error());
  return suppressions;
}

// A directory for the logs that goes away with this object.
class LogDirectory {
public:
  static core::Result<LogDirectory> make() {
    std::error_code error;
    std::string pattern = fs::temp_directory_path(error) / "devsan-XXXXXX";
    if (error || !mkdtemp(pattern.data())) {
      const char *chosen = std::getenv("TMPDIR");
      return core::failure("cannot make a directory for the logs in " +
                           std::string(chosen ? chosen : "/tmp") + ": " +
                           (error ? error.message() : std::strerror(errno)) +
                           "; set TMPDIR to a directory that exists and can be written to");
    }
    return LogDirectory(pattern);
  }
  LogDirectory(LogDirectory &&other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  LogDirectory &operator=(LogDirectory &&) = delete;
  ~LogDirectory() {
    std::error_code error;
    if (!path_.empty())
      fs::remove_all(path_, error);
  }
  const fs::path &path() const { return path_; }

private:
  explicit LogDirectory(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// Opens each report before the run: an hour of training must not end with one that cannot be
// written. Files that this made go away again where the program does not start.
class ReportFiles {
public:
  core::Result<void> open(const std::vector<ReportFile> &reports) {
    for (const ReportFile &report : reports) {
      std::error_code error;
      const bool is_new = !fs::exists(fs::symlink_status(report.path, error));
      if (!std::ofstream(report.path, std::ios::app))
        return core::failure("cannot write the report " + report.path.string() + ": " +
                             std::strerror(errno));
      if (is_new)
        made_.push_back(report.path);
    }
    return {};
  }
  ReportFiles() = default;
  ReportFiles(const ReportFiles &) = delete;
  ReportFiles &operator=(const ReportFiles &) = delete;
  ~ReportFiles() {
    std::error_code error;
    for (const fs::path &path : made_)
      fs::remove(path, error);
  }
  void keep() { made_.clear(); }

private:
  std::vector<fs::path> made_;
};

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
  core::Result<int> devices = parseSimulatedDevices(text ? text : "");
  const int count = devices ? *devices : 0;
  std::string sentence =
      "this `devsan run` runs inside another one; the program is reported here only";
  if (options.simulated_devices && count && options.simulated_devices != count)
    sentence += ", and has " + std::to_string(options.simulated_devices) +
                " simulated devices instead of the outer run's " + std::to_string(count);
  std::fprintf(stderr, "devsan: note: %s\n", sentence.c_str());
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
  if (options.simulated_devices > 0) {
    environment.emplace_back("DEVSAN_SIM_PROTECT", options.protect_devices ? "on" : "off");
    if (!options.device_memory.empty())
      environment.emplace_back("DEVSAN_SIM_MEMORY", options.device_memory);
  }
  return environment;
}

void enterRepository() {
  std::error_code error;
  const fs::path repository = runtime::repositoryOf(fs::current_path(error));
  if (!error && !repository.empty())
    fs::current_path(repository, error);
}

core::Result<void> write(const ReportFile &report, const std::string &text) {
  std::ofstream stream(report.path, std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream)
    return core::failure("cannot write the report " + report.path.string() + ": " +
                         std::strerror(errno));
  return {};
}

std::string shown(const std::vector<std::string> &command) {
  std::string text;
  for (const std::string &argument : command)
    text += (text.empty() ? "" : " ") + argument;
  return text;
}

// The order in which fingerprints count what is otherwise the same. Findings come in the order of
// their first events, which threads race for.
void sortByContent(std::vector<core::Finding> &findings) {
  auto key = [](const core::Finding &finding) {
    const core::Location place =
        finding.locations.empty() ? core::Location{} : finding.locations.front();
    return std::tuple(finding.rule, place.file, place.line, finding.op, finding.from, finding.to,
                      finding.message);
  };
  std::ranges::stable_sort(findings, {}, key);
}

// Worst first; the rest of the order only has to be the same every time.
void rank(std::vector<core::Finding> &findings) {
  std::ranges::sort(findings, [](const core::Finding &a, const core::Finding &b) {
    if (std::tie(a.severity, a.blocked_ns, a.bytes, a.count) !=
        std::tie(b.severity, b.blocked_ns, b.bytes, b.count))
      return std::tie(a.severity, a.blocked_ns, a.bytes, a.count) >
             std::tie(b.severity, b.blocked_ns, b.bytes, b.count);
    return std::tie(a.rule, a.fingerprint) < std::tie(b.rule, b.fingerprint);
  });
}

// What the terminal gets. Single host syncs that the program spells out are only notes: most
// programs have some, and they would bury the rest.
std::string terminalReport(const std::vector<core::Finding> &findings, core::Summary summary) {
  std::vector<core::Finding> loud;
  std::ranges::copy_if(findings, std::back_inserter(loud), [](const core::Finding &finding) {
    return finding.severity != core::Severity::kNote;
  });
  if (const std::size_t quiet = findings.size() - loud.size())
    summary.notes.push_back(std::to_string(quiet) + (quiet == 1 ? " finding" : " findings") +
                            " of severity note not shown; --report=FILE.txt holds all");
  return core::textReport(loud, summary, isatty(STDERR_FILENO) && !std::getenv("NO_COLOR"));
}

} // namespace

int run(const InstallTree &tree, const RunArguments &arguments) {
  if (arguments.command.empty())
    return fail("no command; write it after `--`, as in `devsan run --sim=2 -- ./train`");
  core::Result<RunOptions> options = parseRunOptions(arguments);
  if (!options)
    return fail(options.error().message);
  core::Result<core::Suppressions> suppressions = readSuppressions(arguments.suppressions);
  if (!suppressions)
    return fail(suppressions.error().message);
  ReportFiles report_files;
  if (core::Result<void> opened = report_files.open(options->reports); !opened)
    return fail(opened.error().message);
  core::Result<LogDirectory> logs = LogDirectory::make();
  if (!logs)
    return fail(logs.error().message);
  core::Result<Environment> environment = environmentFor(tree, *options, logs->path());
  if (!environment)
    return fail(environment.error().message);

  std::fflush(nullptr);
  core::Result<ProgramEnd> end = launch(arguments.command, *environment);
  if (!end)
    return fail(end.error().message);
  report_files.keep();

  runtime::Analysis analysis = runtime::analyse(logs->path(), tree.symbolizer());
  core::Summary summary{.tool = "devsan run", .subject = shown(arguments.command)};
  summary.notes = std::move(analysis.notes);
  if (!analysis.torch_was_loaded)
    summary.notes.push_back("LibTorch was never loaded by " + arguments.command.front() +
                            ": nothing was observed");
  if (end->signal || end->status)
    summary.notes.push_back(arguments.command.front() +
                            (end->signal ? " was ended by signal " + std::to_string(end->signal)
                                         : " ended with status " + std::to_string(end->status)) +
                            ": the report covers what ran before");
  // The findings' paths are relative to the repository, and what follows reads the lines.
  enterRepository();
  core::SourceLines lines;
  std::vector<core::Finding> findings;
  for (core::Finding &finding : analysis.findings) {
    if (suppressions->covers(finding) || core::hasNolint(finding, lines))
      ++summary.suppressed;
    else
      findings.push_back(std::move(finding));
  }
  summary.unused_suppressions = suppressions->unused();
  for (std::string &sentence : options->failure.exceededBudgets(findings))
    summary.notes.push_back(std::move(sentence));
  sortByContent(findings);
  core::assignFingerprints(findings);
  rank(findings);

  // The program's own output first, whole: both may go to one file.
  std::fputs(terminalReport(findings, summary).c_str(), stderr);
  int status = options->failure.failed(findings) ? kFindings : kSuccess;
  for (const ReportFile &report : options->reports) {
    const bool json = report.format == ReportFormat::kJson;
    core::Result<void> written = write(report, json ? core::jsonReport(findings, summary)
                                                    : core::textReport(findings, summary, false));
    if (!written)
      status = fail(written.error().message);
  }
  if (end->signal) {
    {
      LogDirectory removed = std::move(*logs);
    }
    endBySignal(end->signal);
  }
  return end->status ? end->status : status;
}

} // namespace devsan::command
