#include "analyzer/tool/check.h"

#include "analyzer/files/git_repository.h"
#include "analyzer/files/project_devices.h"
#include "analyzer/files/report_paths.h"
#include "analyzer/fixes/apply_fixes.h"
#include "analyzer/flags/print_commands.h"
#include "analyzer/run/across_files.h"
#include "analyzer/run/changes.h"
#include "analyzer/run/result_cache.h"
#include "analyzer/run/schedule.h"
#include "analyzer/run/through_sources.h"
#include "analyzer/run/torch_header.h"
#include "analyzer/settings/project_settings.h"
#include "analyzer/system/cache_folder.h"
#include "analyzer/system/progress.h"
#include "analyzer/system/scratch_folder.h"
#include "core/finding/nolint.h"
#include "core/finding/rule_table.h"
#include "core/report/baseline_file.h"
#include "core/system/memory_limit.h"
#include "core/system/project_root.h"
#include "core/system/whole_file.h"
#include "core/text/quantities.h"
#include "core/text/terminal_text.h"

#include <clang-tidy/GlobList.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Basic/Version.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Process.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <unistd.h>

namespace devsan::analyzer {
namespace {

namespace fs = std::filesystem;

constexpr int kClean = 0;
constexpr int kFindings = 1;
constexpr int kFailed = 2;

// In an order that mixes the folders, because files of one folder take alike long. It rests on the
// names alone, so that every machine comes to the same parts.
void keepShard(std::vector<CompileCommand> &commands, const Shard &shard,
               const std::string &repository) {
  if (shard.count == 1)
    return;
  std::vector<std::pair<std::string, std::size_t>> order;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    llvm::StringRef name = commands[i].file;
    if (!repository.empty())
      name.consume_front(repository);
    order.emplace_back(checksum(name), i);
  }
  std::ranges::sort(order);
  std::vector<bool> kept(commands.size());
  for (std::size_t i = shard.index - 1; i < order.size(); i += shard.count)
    kept[order[i].second] = true;
  std::size_t i = 0;
  std::erase_if(commands, [&](const CompileCommand &) { return !kept[i++]; });
}

std::string subjectOf(const Options &options, std::size_t files, std::size_t all,
                      std::size_t excluded) {
  std::string text = core::countText(files, "file");
  if (!options.diff.empty() || options.shard.count > 1)
    text += " of " + std::to_string(all);
  if (excluded)
    text += ", " + std::to_string(excluded) + " excluded";
  if (options.shard.count > 1)
    text += ", shard " + std::to_string(options.shard.index) + "/" +
            std::to_string(options.shard.count);
  if (!options.diff.empty())
    text += ", changes since " + options.diff;
  return text;
}

// clang crashes on a main file with another byte order mark than UTF-8's.
std::string foreignEncoding(const std::string &file) {
  const char *encoding = clang::SrcMgr::ContentCache::getInvalidBOM(textOf(file));
  return encoding ? encoding : "";
}

std::vector<FileOutcome> analyzeFiles(const std::vector<CompileCommand> &commands,
                                      const AnalysisSettings &settings,
                                      const std::optional<TorchLocation> &torch,
                                      const std::string &configuration) {
  ResultCache cache(settings.use_cache, configuration);
  std::vector<FileOutcome> outcomes(commands.size());
  std::vector<CompileCommand> changed;
  std::vector<std::size_t> indices;
  Progress progress(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    outcomes[i].encoding = foreignEncoding(commands[i].file);
    if (outcomes[i].encoding.empty())
      outcomes[i].result = cache.find(commands[i]);
    if (outcomes[i].result || !outcomes[i].encoding.empty()) {
      progress.step(commands[i].file);
      continue;
    }
    changed.push_back(commands[i]);
    indices.push_back(i);
  }
  std::optional<ScratchFolder> scratch;
  if (!changed.empty())
    scratch.emplace();
  analyzeAll(
      changed, settings,
      [&](std::size_t i, FileOutcome outcome) {
        progress.step(changed[i].file);
        if (outcome.result)
          cache.store(changed[i], *outcome.result);
        outcomes[indices[i]] = std::move(outcome);
      },
      [&] {
        progress.say("parsing LibTorch's headers" +
                     (torch ? " (" + torch->version + " in " + torch->folder + ")" : "") +
                     (!settings.use_cache      ? ""
                      : canStoreTorchHeaders() ? "; the next run takes them from the cache"
                                               : "; they cannot be kept: set XDG_CACHE_HOME to a "
                                                 "folder that you may write to"));
      });
  cache.trim();
  return outcomes;
}

// A header's findings come with each file that includes it.
void merge(std::vector<core::Finding> &all, std::vector<core::Finding> more,
           std::set<std::tuple<std::string, unsigned, unsigned, std::string, std::string>> &seen) {
  for (core::Finding &finding : more) {
    const core::Location &place = finding.locations.front();
    if (seen.emplace(place.file, place.line, place.column, finding.rule, finding.message).second)
      all.push_back(std::move(finding));
  }
}

// A program of LibTorch without its headers: what remains of it names no tensor.
bool lacksTorch(const FileResult &result, const Options &options) {
  return options.torch != "none" && !result.found_torch &&
         llvm::any_of(result.missing_headers, isTorchInclude);
}

// Nobody looked at the file. Under --no-strict one that does not parse is analysed in part.
bool isAnalysed(const FileOutcome &outcome, const Options &options) {
  return outcome.result && (options.strict == false || (!outcome.result->isNotAnalyzed() &&
                                                        !lacksTorch(*outcome.result, options)));
}

// What an analysis did that was ended.
std::string reached(Limit limit, const Options &options) {
  switch (limit) {
  case Limit::kNone:
    break;
  case Limit::kTime:
    return "took longer than " + std::to_string(options.limit->count()) + " s (--timeout)";
  case Limit::kMemory:
    return "took more than " + std::to_string(options.memory) + " MB of memory (--memory)";
  case Limit::kTokens:
    return "reached the limit for includes and macro expansions";
  case Limit::kResult:
    return "found more than a report can hold";
  case Limit::kRun:
    return "was broken off, the run took longer than " +
           std::to_string(options.total_limit.count()) + " s (--total-timeout)";
  }
  return {};
}

// "a.h, b.h, c.h and 5 more headers".
std::string firstOf(llvm::ArrayRef<std::string> names, const std::string &what) {
  constexpr std::size_t kShown = 3;
  std::string text = llvm::join(names.take_front(kShown), ", ");
  if (names.size() > kShown)
    text += " and " + core::countText(names.size() - kShown, "more " + what);
  return text;
}

// Why there is no result of a file, or only of a part of it; empty where it is whole.
std::string incompleteReason(const FileOutcome &outcome, const Options &options) {
  if (!outcome.encoding.empty())
    return "not analysed, it is in " + outcome.encoding + ", not in UTF-8";
  if (!outcome.result)
    return "not analysed, the analysis " +
           (outcome.limit != Limit::kNone ? reached(outcome.limit, options)
            : outcome.signal              ? "was ended by signal " + std::to_string(outcome.signal)
                                          : "failed");
  const FileResult &result = *outcome.result;
  if (!result.isPartial())
    return {};
  std::string text = isAnalysed(outcome, options)  ? "parsed in part"
                     : lacksTorch(result, options) ? "not analysed, LibTorch's headers are missing"
                     : !result.refused.empty() || result.is_cut_off
                         ? "not analysed as a whole"
                         : "not analysed, no function in it could be parsed";
  if (!result.refused.empty())
    text += ", of what it reads " + llvm::join(result.refused, ", ");
  if (!result.missing_headers.empty())
    text += ", not found: " + firstOf(result.missing_headers, "header");
  if (result.errors && result.refused.empty())
    text += "; " + core::countText(result.errors, "error") +
            ", the first: " + shortPath(result.first_error);
  if (result.lines)
    text +=
        "; " + std::to_string(100 * result.lines_seen / result.lines) + " % of its lines were seen";
  return text;
}

std::vector<std::string> absolutePaths(const std::vector<std::string> &paths) {
  std::vector<std::string> absolute;
  std::error_code error;
  for (const std::string &path : paths)
    absolute.push_back(std::filesystem::absolute(path, error).lexically_normal());
  return absolute;
}

// Absolute, and as reports show them.
std::vector<std::string> namesOf(const std::set<std::string> &files,
                                 const std::string &repository) {
  std::vector<std::string> names(files.begin(), files.end());
  if (!repository.empty())
    for (llvm::StringRef file : files)
      if (file.consume_front(repository) && file.consume_front("/"))
        names.push_back(file.str());
  return names;
}

core::Result<void> writeReport(const Options &options, const std::vector<core::Finding> &findings,
                               const core::Summary &summary, const std::string &repository) {
  // With --fix=dry-run stdout is for the difference.
  const int shown_on = options.only_show_fixes ? STDERR_FILENO : STDOUT_FILENO;
  const core::Terminal terminal =
      options.output.empty() ? core::terminalOf(shown_on, options.color) : core::Terminal{};
  // These tell lines of sources, whose paths are relative to the repository.
  std::string output = options.output;
  if (!output.empty()) {
    llvm::SmallString<256> path(output);
    llvm::sys::fs::make_absolute(path);
    output = std::string(path);
  }
  const bool tells_lines =
      options.format == core::ReportFormat::kSarif || options.format == core::ReportFormat::kHtml;
  if (tells_lines && !repository.empty())
    llvm::sys::fs::set_current_path(repository);
  const auto content = [&](std::ostream &out) {
    core::writeReport(out, options.format, findings, summary, {.terminal = terminal});
  };
  if (!options.output.empty()) {
    if (core::Result<void> written = core::writeFile(output, content); !written)
      return core::failure("-o " + options.output + ": " + written.error().message);
    return {};
  }
  std::ostream &out = options.only_show_fixes ? std::cerr : std::cout;
  content(out);
  if (!out.flush())
    return core::failure(options.only_show_fixes ? "cannot write the report to stderr"
                                                 : "cannot write the report to stdout");
  return {};
}

core::Result<std::vector<CompileCommand>> commandsOf(const std::vector<std::string> &files,
                                                     CompileCommands &compile_commands) {
  std::vector<CompileCommand> commands;
  for (const std::string &file : files) {
    auto command = compile_commands.of(file);
    if (!command)
      return tl::unexpected(command.error());
    commands.push_back(std::move(*command));
  }
  return commands;
}

// Drops the commands that the changes of --diff do not reach; nothing without that option.
core::Result<std::optional<Changes>> keepChanged(std::vector<CompileCommand> &commands,
                                                 const Options &options,
                                                 const std::vector<std::string> &files) {
  if (options.diff.empty())
    return std::nullopt;
  auto changes = Changes::since(options.diff, files);
  if (!changes)
    return tl::unexpected(changes.error());
  Includes includes;
  std::erase_if(commands, [&](const CompileCommand &c) { return !includes.reaches(c, *changes); });
  return std::move(*changes);
}

// Which of the files, by real path, does not parse any more with its text: each in a command that
// parsed it before.
std::set<std::string> brokenBy(const std::map<std::string, std::string> &texts,
                               const std::map<std::string, std::size_t> &readers,
                               const std::vector<CompileCommand> &commands,
                               AnalysisSettings settings) {
  std::map<std::size_t, std::set<std::string>> read_by;
  settings.instead.clear();
  for (const auto &[file, reader] : readers) {
    llvm::SmallString<256> real;
    if (llvm::sys::fs::real_path(file, real))
      continue;
    if (const auto text = texts.find(std::string(real)); text != texts.end()) {
      settings.instead.push_back({file, text->second});
      read_by[reader].insert(text->first);
    }
  }
  std::vector<CompileCommand> again;
  std::vector<const std::set<std::string> *> of;
  for (const auto &[reader, files] : read_by) {
    again.push_back(commands[reader]);
    of.push_back(&files);
  }
  std::set<std::string> broken;
  settings.checks = "-*";
  analyzeAll(
      again, settings,
      [&](std::size_t i, FileOutcome outcome) {
        if (!outcome.result || outcome.result->errors)
          broken.insert(of[i]->begin(), of[i]->end());
      },
      [] {});
  return broken;
}

// Where the command is a container's first process or the child of it, all ends with it.
bool endsAtTerminal() {
  return llvm::sys::Process::StandardErrIsDisplayed() && getpid() != 1 && getppid() != 1;
}

// What the files' outcomes come to.
struct Collected {
  std::vector<core::Finding> findings; // sorted by place
  std::vector<std::string> notes;
  std::set<std::string> files_read;
  std::map<std::string, std::string> texts;   // checksums of what was analysed; empty: it differs
  std::map<std::string, std::size_t> readers; // a command that parsed this file as a whole
  std::size_t suppressed = 0;
  std::size_t not_analysed = 0;
  bool complete = true;     // every file parsed as a whole
  bool lacks_torch = false; // somewhere there was no header of LibTorch at all
};

// What files that parsed in part have in common; empty for fewer than two.
std::string partsNote(const std::vector<FileOutcome> &outcomes) {
  constexpr std::size_t kShown = 8;
  std::size_t files = 0, lines = 0, seen = 0;
  std::map<std::string, std::size_t> missing;
  for (const FileOutcome &outcome : outcomes) {
    if (!outcome.result || !outcome.result->isPartial())
      continue;
    ++files;
    lines += outcome.result->lines;
    seen += outcome.result->lines_seen;
    for (const std::string &header : outcome.result->missing_headers)
      ++missing[header];
  }
  if (files < 2 || lines == 0)
    return {};
  std::vector<std::pair<std::size_t, std::string>> most;
  for (const auto &[header, count] : missing)
    most.emplace_back(count, header);
  std::ranges::sort(most, [](const auto &a, const auto &b) {
    return std::pair(b.first, a.second) < std::pair(a.first, b.second);
  });
  std::string text = core::countText(files, "file") +
                     " parsed in part: " + std::to_string(100 * seen / lines) +
                     " % of their lines were seen";
  for (std::size_t i = 0; i < std::min(most.size(), kShown); ++i)
    text += (i ? ", " : "; not found: ") + most[i].second + " (" +
            core::countText(most[i].first, "file") + ")";
  if (most.size() > kShown)
    text += " and " + core::countText(most.size() - kShown, "more header");
  return text;
}

Collected collect(const std::vector<CompileCommand> &commands, std::vector<FileOutcome> outcomes,
                  const Options &options) {
  Collected all;
  if (std::string note = partsNote(outcomes); !note.empty())
    all.notes.push_back(std::move(note));
  std::set<std::tuple<std::string, unsigned, unsigned, std::string, std::string>> seen;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::string name = shortPath(commands[i].file);
    if (commands[i].missing_in_database)
      all.notes.push_back(name + ": not in compile_commands.json, its flags were derived");
    if (const std::string lacks = incompleteReason(outcomes[i], options); !lacks.empty()) {
      all.complete = false;
      all.notes.push_back(name + ": " + lacks);
    }
    if (outcomes[i].result && outcomes[i].signal_behind_headers)
      all.notes.push_back(name + ": clang crashed (signal " +
                          std::to_string(outcomes[i].signal_behind_headers) +
                          ") with the shared headers of LibTorch, so the file was parsed again by "
                          "itself; please report it");
    all.not_analysed += !isAnalysed(outcomes[i], options);
    if (!outcomes[i].result)
      continue;
    FileResult &result = *outcomes[i].result;
    all.lacks_torch |= lacksTorch(result, options);
    all.suppressed += result.suppressed;
    if (commands[i].only.empty())
      all.files_read.insert(commands[i].file);
    for (const auto &[file, sum] : result.files_read) {
      all.files_read.insert(file);
      if (file == commands[i].file)
        all.readers[file] = i;
      else if (!result.isPartial())
        all.readers.emplace(file, i);
      if (const auto [known, is_new] = all.texts.emplace(file, sum);
          !is_new && known->second != sum)
        known->second.clear();
    }
    merge(all.findings, std::move(result.findings), seen);
  }
  std::ranges::sort(all.findings, {}, [](const core::Finding &finding) {
    const core::Location &place = finding.locations.front();
    return std::tie(place.file, place.line, place.column, finding.rule, finding.message);
  });
  return all;
}

// More files than a run looks at: those of its inputs that it leaves out, and the sources of the
// projects that `files` belong to.
std::vector<std::string> otherProjectFiles(const std::vector<std::string> &files,
                                           const std::vector<CompileCommand> &looked_at,
                                           const std::vector<std::string> &inputs,
                                           const ProjectSettings &settings,
                                           const Options &options) {
  std::vector<std::string> others;
  std::set<fs::path> known; // whatever links lead to a file
  const auto is_new = [&](const std::string &file) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    return known.insert(error ? fs::path(file) : real).second;
  };
  for (const CompileCommand &command : looked_at)
    is_new(command.file);
  llvm::copy_if(inputs, std::back_inserter(others), is_new);
  if (options.alone)
    return others;
  std::set<fs::path> folders;
  for (const std::string &file : files)
    if (folders.insert(fs::path(file).parent_path()).second)
      for (const std::string &source : sourcesAround(file)) {
        folders.insert(fs::path(source).parent_path());
        if (!settings.excludes(source) && is_new(source))
          others.push_back(source);
      }
  return others;
}

// Other files of the project, read for the sake of the run's own: for as long as those took, or as
// one of them may take.
class RelatedFiles {
public:
  using Clock = Processes::Clock;
  using Analyze = std::function<std::vector<FileOutcome>(const std::vector<CompileCommand> &,
                                                         const AnalysisSettings &)>;

  RelatedFiles(const AnalysisSettings &settings, Clock::duration own_time)
      : settings_(settings), time_(std::max<Clock::duration>(settings.limit, own_time)) {}

  std::vector<FileOutcome> read(const std::vector<CompileCommand> &commands,
                                const Analyze &analyze) {
    AnalysisSettings settings = settings_;
    if (settings_.limit.count() != 0) {
      deadline_ = deadline_.value_or(Clock::now() + time_);
      settings.until = std::min(settings.until.value_or(*deadline_), *deadline_);
    }
    std::vector<FileOutcome> outcomes = analyze(commands, settings);
    for (const auto &[command, outcome] : llvm::zip_equal(commands, outcomes))
      if (!outcome.result)
        missing_.push_back(shortPath(command.file));
    return outcomes;
  }

  // Empty where all were read.
  std::string note() const {
    if (missing_.empty())
      return {};
    const auto seconds = std::chrono::ceil<Seconds>(time_).count();
    return "out of time after " + std::to_string(seconds) +
           " s (--timeout), not searched for callers: " + firstOf(missing_, "file");
  }

private:
  const AnalysisSettings &settings_;
  Clock::duration time_;
  std::optional<Clock::time_point> deadline_;
  std::vector<std::string> missing_;
};

// Whether the project file keeps the run from looking at anything: it leaves nothing of a folder
// that was to be looked at, or nothing of the project. Empty where it does not.
std::string silenceOf(const std::vector<std::string> &files, std::size_t excluded,
                      const std::vector<std::string> &rules, const ProjectSettings &settings,
                      const Options &options) {
  const auto is_folder = [](const std::string &input) {
    return llvm::sys::fs::is_directory(input);
  };
  if (files.empty() && llvm::any_of(options.inputs, is_folder))
    return (excluded == 1 ? "the only file is" : "all " + std::to_string(excluded) + " files are") +
           (" excluded by " + settings.path());
  if (settings.path().empty() || !settings.silences(files, rules))
    return {};
  // Of a few files, as a commit has them, this may be meant.
  const auto all = expandInputs({fs::path(settings.path()).parent_path()});
  return !all || settings.silences(*all, rules)
             ? settings.path() + " excludes or suppresses whatever could be found"
             : std::string();
}

// The first file by which a part of the project passes for a build or an environment: what those
// leave behind is not tracked. Empty where there is none.
std::string firstHidingFile(const std::set<std::string> &hiding) {
  std::map<std::string, core::Result<GitRepository>> repositories;
  for (const std::string &file : hiding) {
    const std::string root = nearestFolderWith(file, {".git"});
    if (root.empty())
      continue;
    auto known = repositories.find(root);
    if (known == repositories.end())
      known = repositories.emplace(root, GitRepository::open(root)).first;
    if (known->second && known->second->tracks(file))
      return file;
  }
  return {};
}

// What takes it for granted that tensors may lie on a device, in programs that name none.
void dropFindingsOfHost(const std::vector<CompileCommand> &commands,
                        std::vector<FileOutcome> &outcomes) {
  static constexpr llvm::StringLiteral kRules[] = {"device-host-sync", "device-missing-device"};
  ProjectDevices projects;
  for (const auto &[command, outcome] : llvm::zip_equal(commands, outcomes))
    if (outcome.result)
      dropFindings(*outcome.result, [&](const core::Finding &finding, const FindingContext &) {
        return llvm::is_contained(kRules, llvm::StringRef(finding.rule)) &&
               projects.isOnHostOnly(command.file);
      });
}

// The run is over then. Whatever this process does itself is broken off soon after.
std::optional<Processes::Clock::time_point> startRunLimit(Seconds limit) {
  if (limit.count() == 0)
    return std::nullopt;
  constexpr unsigned kToReport = 10;
  std::signal(SIGALRM, [](int) {
    constexpr char kLine[] =
        "devsan check: error: the run took longer than --total-timeout allows; "
        "there is no report\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLine, sizeof kLine - 1);
    _exit(kFailed);
  });
  alarm(static_cast<unsigned>(limit.count()) + kToReport);
  return Processes::Clock::now() + limit;
}

// Empty where that is /.
std::string repositoryOf(const std::string &file) {
  std::error_code error;
  const fs::path folder = fs::absolute(file, error).parent_path();
  const fs::path root = core::findProjectRoot(folder).value_or(fs::current_path(error));
  return root == root.root_path() ? std::string() : root.string();
}

} // namespace

core::Result<int> check(Options options) {
  core::limitMemory(options.memory, "devsan check");
  const std::optional<Processes::Clock::time_point> until = startRunLimit(options.total_limit);
  std::set<std::string> hiding;
  auto files = expandInputs(options.inputs, &hiding);
  if (!files)
    return tl::unexpected(files.error());
  auto project = ProjectSettings::find(*files);
  if (!project)
    return tl::unexpected(project.error());
  const bool is_told_what_fails = options.fail_on.has_value();
  if (auto applied = project->apply(options); !applied)
    return tl::unexpected(applied.error());
  // Where the project is; all of its files may be excluded.
  const std::string first_file = files->front();
  const auto is_excluded = [&](const std::string &file) { return project->excludes(file); };
  const std::size_t excluded = std::erase_if(*files, is_excluded);
  std::erase_if(hiding, is_excluded);
  options.limit = options.limit.value_or(kDefaultLimit);
  auto checks = validChecks(options.checks.value_or("device-*"));
  if (!checks)
    return tl::unexpected(checks.error());
  auto baseline = core::BaselineFile::open(options.baseline, options.update_baseline,
                                           options.baseline_is_found);
  if (!baseline)
    return tl::unexpected(baseline.error());
  auto suppressions = project->suppressions(options);
  if (!suppressions)
    return tl::unexpected(suppressions.error());
  auto torch = findTorch(TorchPlaces{options.torch, options.python, options.build_dir, first_file},
                         options.use_cache);
  if (!torch)
    return tl::unexpected(torch.error());

  CompileCommands compile_commands(options, *torch);
  auto commands = commandsOf(*files, compile_commands);
  if (!commands)
    return tl::unexpected(commands.error());
  std::vector<CompileCommand> headers;
  if (!options.alone && !options.print_commands)
    headers = lookThroughSources(
        *commands,
        [&](const std::string &header) {
          std::vector<std::string> sources = sourcesAround(header);
          std::erase_if(sources, is_excluded);
          return sources;
        },
        [&](const std::string &source) { return compile_commands.of(source); });
  auto changes = keepChanged(*commands, options, *files);
  if (!changes)
    return tl::unexpected(changes.error());
  if (options.print_commands) {
    if (auto written = printCommands(*commands, options.output); !written)
      return tl::unexpected(written.error());
    return kClean;
  }
  std::string silence = silenceOf(*files, excluded, checksIn(*checks), *project, options);
  if (silence.empty() && options.strict != false)
    if (const std::string file = firstHidingFile(hiding); !file.empty())
      silence = "sources beside " + file +
                ", which git tracks: remove that file, or exclude its folder in .devsan.toml";
  const std::string repository = repositoryOf(first_file);
  keepShard(*commands, options.shard, repository);

  const AnalysisSettings settings{*checks,         *torch ? (*torch)->version : std::string(),
                                  options.jobs,    *options.limit,
                                  until,           options.use_cache,
                                  endsAtTerminal()};
  const std::string configuration = programIdentity() + '\n' + clang::getClangFullVersion() + '\n' +
                                    settings.checks + '\n' + settings.torch_version + '\n' +
                                    compile_commands.stubsIdentity();
  const auto analyze = [&](const std::vector<CompileCommand> &some,
                           const AnalysisSettings &within) {
    return analyzeFiles(some, within, *torch, configuration);
  };
  const Processes::Clock::time_point began = Processes::Clock::now();
  std::vector<FileOutcome> outcomes = analyze(*commands, settings);
  if (options.diff.empty() && options.shard.count == 1)
    if (std::vector<CompileCommand> unread = headersNotRead(headers, outcomes); !unread.empty()) {
      std::ranges::move(analyze(unread, settings), std::back_inserter(outcomes));
      std::ranges::move(unread, std::back_inserter(*commands));
    }
  keepHeadersOnly(*commands, outcomes);
  if (*changes)
    for (FileOutcome &outcome : outcomes)
      if (outcome.result)
        dropFindings(*outcome.result, [&](const core::Finding &finding, const auto &context) {
          return !(*changes)->touches(finding, context);
        });
  RelatedFiles related(settings, Processes::Clock::now() - began);
  resolveCrossFileFindings(
      *commands, outcomes,
      [&](const std::vector<std::string> &some) {
        return otherProjectFiles(some, *commands, *files, *project, options);
      },
      [&](const std::vector<std::string> &some) {
        auto more = commandsOf(some, compile_commands);
        return more ? related.read(*more, analyze) : std::vector<FileOutcome>();
      });
  if (!options.alone)
    dropFindingsOfHost(*commands, outcomes);
  Collected all = collect(*commands, std::move(outcomes), options);

  std::vector<core::Finding> &findings = all.findings;
  std::erase_if(findings, [&](const core::Finding &finding) {
    return is_excluded(finding.locations.front().file); // a header
  });
  core::Summary summary{.tool = "devsan check",
                        .subject =
                            subjectOf(options, headers.empty() ? commands->size() : files->size(),
                                      files->size(), excluded)};
  summary.notes = std::move(all.notes);
  if (std::string note = related.note(); !note.empty())
    summary.notes.push_back(std::move(note));
  if (all.not_analysed)
    summary.subject += ", " + std::to_string(all.not_analysed) + " not analysed";
  if (all.lacks_torch)
    summary.notes.insert(summary.notes.begin(),
                         "no LibTorch found: name the folder of the installed torch package with "
                         "--torch=DIR, its Python with --python=FILE, or the folder of "
                         "compile_commands.json with -p DIR");
  for (const fs::path file : hiding)
    summary.notes.push_back(
        shortPath(file.parent_path()) + ": not analysed: it holds sources, but " +
        file.filename().string() +
        " marks it as a build or an environment; name the folder to have it analysed");
  llvm::append_range(summary.notes, project->ignoredProjectFiles());
  identify(findings, repository);
  summary.suppressed = all.suppressed + std::erase_if(findings, [&](const core::Finding &f) {
                         return suppressions->covers(f);
                       });
  {
    std::vector<core::Finding> seen_from_here = findings;
    showPathsFromHere(seen_from_here, repository);
    core::SourceLines lines;
    llvm::append_range(summary.notes, core::mistakenNolints(seen_from_here, lines));
  }
  const bool is_whole = all.complete && !*changes && options.shard.count == 1;
  const clang::tidy::GlobList wanted(*checks);
  if (is_whole) {
    const auto looked_for = [&](const core::Rule &rule) {
      return rule.on_static && wanted.contains(llvm::StringRef(rule.id.data(), rule.id.size()));
    };
    summary.unused_suppressions = suppressions->unused(
        looked_for, core::Suppressions::Seen{absolutePaths(options.inputs),
                                             namesOf(all.files_read, repository)});
  }
  // What was not looked at is neither gone from the baseline nor taken out of it, unless it never
  // is.
  summary.partial = !is_whole;
  const auto looked_at = [&](const std::string &rule, const std::string &file) {
    const std::string path =
        repository.empty() || file.starts_with("/") ? file : repository + "/" + file;
    return wanted.contains(rule) &&
           (all.files_read.contains(path) || is_excluded(path) || !llvm::sys::fs::exists(path));
  };
  if (auto applied = baseline->apply(findings, {core::Origin::kStatic}, summary, looked_at);
      !applied)
    return tl::unexpected(applied.error());
  if (!silence.empty())
    summary.notes.push_back("not analysed: " + silence);
  const bool broken_off = until && Processes::Clock::now() >= *until;
  if (broken_off)
    summary.notes.push_back("the run took longer than " +
                            std::to_string(options.total_limit.count()) +
                            " s (--total-timeout): not all of the project was looked at");
  summary.partial = all.not_analysed != 0 || broken_off || !silence.empty();
  if (options.fix) {
    const auto broken = [&](const std::map<std::string, std::string> &texts) {
      return brokenBy(texts, all.readers, *commands, settings);
    };
    FixOutcome fixed =
        applyFixes(findings, {repository, std::move(all.texts), rootsOf(options.inputs),
                              options.only_show_fixes, options.fix_all, broken});
    if (fixed.findings)
      summary.notes.push_back(core::countText(fixed.findings, "finding") +
                              " fixed in the sources and left out of this report");
    std::ranges::move(fixed.skipped, std::back_inserter(summary.notes));
    std::cout << fixed.diff;
    if (!std::cout.flush())
      return core::failure("cannot write the difference to stdout");
  }
  const std::size_t new_findings = std::ranges::count(findings, false, &core::Finding::known);
  const core::FailOn fail_on =
      options.fail_on.value_or(core::FailOn{.severity = core::Severity::kNote, .rules = {}});
  const std::size_t failing = std::ranges::count_if(
      findings, [&](const core::Finding &finding) { return fail_on.covers(finding); });
  summary.verdict = core::verdictFor(fail_on.reasons(findings));
  const bool lacks_strict = options.strict.value_or(false) && !all.complete;
  if (all.not_analysed || !silence.empty() || broken_off || lacks_strict)
    summary.verdict = {core::Verdict::Outcome::kNotAnalysed};
  else if (summary.verdict.outcome == core::Verdict::Outcome::kPassed && !all.complete)
    summary.verdict.outcome = core::Verdict::Outcome::kPassedInPart;
  if (!is_told_what_fails && failing < new_findings)
    summary.notes.push_back("'fail-on' of " + project->path() + " lets " +
                            core::countText(new_findings - failing, "finding") + " pass");

  if (options.format == core::ReportFormat::kText)
    showPathsFromHere(findings, repository);
  if (auto written = writeReport(options, findings, summary, repository); !written)
    return tl::unexpected(written.error());
  if (!options.output.empty())
    llvm::errs() << core::printable(core::headline(summary) + ": " +
                                    core::countText(new_findings, "finding") + ", in " +
                                    options.output)
                 << "\n";
  if (all.not_analysed) {
    llvm::errs() << "devsan check: error: " << all.not_analysed << " of "
                 << core::countText(commands->size(), "file")
                 << " not analysed; the report names them\n";
  } else if (!silence.empty()) {
    llvm::errs() << "devsan check: error: not analysed: " << core::printable(silence) << "\n";
  } else if (!broken_off && lacks_strict) {
    llvm::errs()
        << "devsan check: error: not all files parsed as a whole, which --strict asks for; "
           "the report's notes name them\n";
  }
  return core::exitStatus(summary.verdict, kFindings);
}

} // namespace devsan::analyzer
