#include "analyzer/tool/check.h"

#include "analyzer/files/report_paths.h"
#include "analyzer/files/source_files.h"
#include "analyzer/fixes/apply_fixes.h"
#include "analyzer/flags/print_commands.h"
#include "analyzer/run/across_files.h"
#include "analyzer/run/analyze_files.h"
#include "analyzer/run/changes.h"
#include "analyzer/run/print_facts.h"
#include "analyzer/run/result_cache.h"
#include "analyzer/run/schedule.h"
#include "analyzer/run/through_sources.h"
#include "analyzer/settings/project_settings.h"
#include "analyzer/summary/summaries.h"
#include "analyzer/system/cache_folder.h"
#include "analyzer/tool/collect.h"
#include "analyzer/tool/left_out.h"
#include "analyzer/tool/related_files.h"
#include "analyzer/tool/report.h"
#include "analyzer/tool/selection.h"
#include "core/finding/nolint.h"
#include "core/finding/rule_table.h"
#include "core/report/baseline_file.h"
#include "core/system/memory_limit.h"
#include "core/system/project_root.h"
#include "core/system/whole_file.h"
#include "core/text/quantities.h"
#include "core/text/terminal_text.h"

#include <clang-tidy/GlobList.h>
#include <clang/Basic/Version.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Process.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
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
constexpr std::size_t kBehindSources = std::size_t{1} << 30; // more than a run may have

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

// Where the command is a container's first process or the child of it, all ends with it.
bool endsAtTerminal() {
  return llvm::sys::Process::StandardErrIsDisplayed() && getpid() != 1 && getppid() != 1;
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

// What the command line and the project say.
struct Setup {
  Options options;
  std::optional<Summaries> summaries; // with --from-summaries
  std::vector<std::string> files;
  std::set<std::string> hiding; // files that make a folder pass for a build or an environment
  std::string first_file;       // where the project is; all of its files may be excluded
  std::size_t excluded = 0;
  bool is_told_what_fails = false; // on the command line
  ProjectSettings project;
  std::string checks;
  core::BaselineFile baseline;
  core::Suppressions suppressions;
  std::optional<TorchLocation> torch;
};

// The inputs, and what has been decided before, come from the summaries.
core::Result<std::optional<Summaries>> takeSummaries(Options &options) {
  if (!options.from_summaries)
    return std::nullopt;
  auto summaries = Summaries::read(options.inputs, repositoryOf("x"));
  if (!summaries)
    return tl::unexpected(summaries.error());
  const Summary &made = summaries->front();
  options.checks = made.checks;
  options.alone = made.alone;
  if (made.without_torch)
    options.torch = "none";
  options.inputs = summaries->inputs();
  return std::move(*summaries);
}

core::Result<Setup> setUp(Options options) {
  if (!options.root.empty()) {
    if (!llvm::sys::fs::is_directory(options.root))
      return core::failure("--root=" + options.root + ": no such folder");
    core::setProjectRoot(fs::path(absolutePaths({options.root + "/x"}).front()).parent_path());
  }
  auto summaries = takeSummaries(options);
  if (!summaries)
    return tl::unexpected(summaries.error());
  std::set<std::string> hiding;
  auto files = expandInputs(options.inputs, &hiding);
  if (!files)
    return core::failure(files.error().message + (*summaries ? kWhereSourcesAre : ""));
  auto project = ProjectSettings::find(*files);
  if (!project)
    return tl::unexpected(project.error());
  const bool is_told_what_fails = options.fail_on.has_value();
  if (auto applied = project->apply(options); !applied)
    return tl::unexpected(applied.error());
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
  return Setup{std::move(options),
               std::move(*summaries),
               std::move(*files),
               std::move(hiding),
               first_file,
               excluded,
               is_told_what_fails,
               std::move(*project),
               std::move(*checks),
               std::move(*baseline),
               std::move(*suppressions),
               std::move(*torch)};
}

class Run {
public:
  Run(Setup setup, std::optional<Processes::Clock::time_point> until)
      : setup_(std::move(setup)), options_(setup_.options), project_(setup_.project),
        repository_(repositoryOf(setup_.first_file)), until_(until),
        compile_commands_(options_, setup_.torch), wanted_(setup_.checks) {}

  core::Result<int> check() {
    if (auto chosen = choose(); !chosen)
      return tl::unexpected(chosen.error());
    if (options_.print_commands || options_.dump_facts) {
      if (auto written = options_.dump_facts ? dumpFacts() : printCommands(); !written)
        return tl::unexpected(written.error());
      return kClean;
    }
    prepare();
    if (!options_.summary.empty())
      return writePart();
    silence_ = whyNothingIsSeen();
    analyze();
    summarize();
    if (auto applied = applyBaseline(); !applied)
      return tl::unexpected(applied.error());
    noteWhatIsMissing();
    if (options_.fix)
      if (auto fixed = fix(); !fixed)
        return tl::unexpected(fixed.error());
    judge();
    return report();
  }

private:
  core::Result<void> printCommands() const {
    return writeText(commandsText(commands_), "the commands", options_.output);
  }

  core::Result<void> dumpFacts() const {
    if (commands_.size() != 1)
      return core::failure("--dump-facts takes one file, and there are " +
                           std::to_string(commands_.size()));
    const core::Result<std::string> text = factsOf(commands_.front(), *options_.limit);
    if (!text)
      return tl::unexpected(text.error());
    return writeText(*text, "the facts", options_.output);
  }

  bool isExcluded(const std::string &file) const { return project_.excludes(file); }

  // The files with their flags; headers stand for sources that include them.
  core::Result<void> choose() {
    if (setup_.summaries)
      return chooseFromSummaries();
    const bool is_part =
        options_.shard.count > 1 && !options_.print_commands && !options_.dump_facts;
    // Before flags are looked for, where nothing else decides what there is to analyse.
    const bool is_early = options_.diff.empty() && llvm::none_of(setup_.files, isHeader);
    std::vector<std::string> files = setup_.files;
    if (is_part && is_early) {
      places_ = shardOf(files, options_.shard, repository_);
      keepAt(files, places_);
    }
    auto commands = commandsOf(files, compile_commands_);
    if (!commands)
      return tl::unexpected(commands.error());
    commands_ = std::move(*commands);
    if (!options_.alone && !options_.print_commands && !options_.dump_facts)
      headers_ = lookThroughSources(
          commands_,
          [&](const std::string &header) {
            std::vector<std::string> sources = sourcesAround(header);
            std::erase_if(sources, [&](const std::string &file) { return isExcluded(file); });
            return sources;
          },
          [&](const std::string &source) { return compile_commands_.of(source); });
    auto changes = keepChanged(commands_, options_, setup_.files);
    if (!changes)
      return tl::unexpected(changes.error());
    changes_ = std::move(*changes);
    if (is_part && !is_early) {
      places_ = shardOf(filesOf(commands_), options_.shard, repository_);
      keepAt(commands_, places_);
    }
    if (!is_part)
      for (std::size_t i = 0; i < commands_.size(); ++i)
        places_.push_back(i);
    return {};
  }

  core::Result<void> chooseFromSummaries() {
    if (auto match = setup_.summaries->matchSources(
            repository_,
            [&](const std::vector<std::string> &inputs) {
              auto files = expandInputs(inputs);
              if (files)
                std::erase_if(*files, [&](const std::string &file) { return isExcluded(file); });
              return files;
            });
        !match)
      return match;
    for (Summary::Unit &unit : setup_.summaries->take()) {
      CompileCommand &command = commands_.emplace_back();
      command.file = std::move(unit.file);
      command.only = std::move(unit.only);
      command.missing_in_database = unit.missing_in_database;
      command.in_database = unit.in_database;
      outcomes_.push_back(std::move(unit.outcome));
    }
    return {};
  }

  static std::vector<std::string> filesOf(const std::vector<CompileCommand> &commands) {
    std::vector<std::string> files;
    for (const CompileCommand &command : commands)
      files.push_back(command.file);
    return files;
  }

  // Empty where there is nothing to say against the run.
  std::string whyNothingIsSeen() const {
    std::string silence =
        silenceOf(setup_.files, setup_.excluded, checksIn(setup_.checks), project_, options_);
    if (!silence.empty() || options_.strict == false)
      return silence;
    const std::string file = firstHidingFile(setup_.hiding);
    return file.empty() ? ""
                        : "sources beside " + file +
                              ", which git tracks: remove that file, or exclude its folder in "
                              ".devsan.toml";
  }

  std::vector<FileOutcome> analyzed(const std::vector<CompileCommand> &commands,
                                    const AnalysisSettings &settings) const {
    const std::string configuration = programIdentity() + '\n' + clang::getClangFullVersion() +
                                      '\n' + settings.checks + '\n' + settings.torch_version +
                                      '\n' + compile_commands_.stubsIdentity();
    return analyzeFiles(commands, settings, setup_.torch, configuration);
  }

  void prepare() {
    settings_ = {setup_.checks,   setup_.torch ? setup_.torch->version : std::string(),
                 options_.jobs,   *options_.limit,
                 until_,          options_.use_cache,
                 endsAtTerminal()};
  }

  core::Result<int> writePart() {
    Summary summary{.checks = options_.checks.value_or("device-*"),
                    .torch = settings_.torch_version,
                    .without_torch = options_.torch == "none",
                    .alone = options_.alone,
                    .shard = options_.shard,
                    .inputs = absolutePaths(options_.inputs),
                    .list = listSum(setup_.files, repository_),
                    .headers_read = {},
                    .units = {}};
    const auto add = [&](CompileCommand &command, FileOutcome &outcome, std::size_t index,
                         bool is_unread_header) {
      summary.units.push_back({static_cast<unsigned>(index), std::move(command.file),
                               std::move(command.only), command.missing_in_database,
                               command.in_database, is_unread_header, std::move(outcome)});
    };
    std::vector<FileOutcome> outcomes = analyzed(commands_, settings_);
    const std::vector<std::string> headers = filesOf(headers_);
    std::vector<std::size_t> unread;
    for (const std::size_t i : shardOf(headers, options_.shard, repository_))
      if (!headersNotRead({headers_[i]}, outcomes).empty())
        unread.push_back(i);
    for (const CompileCommand &header : headers_)
      if (headersNotRead({header}, outcomes).empty())
        summary.headers_read.push_back(header.file);
    std::vector<CompileCommand> own_headers = headers_;
    keepAt(own_headers, unread);
    std::vector<FileOutcome> of_headers = analyzed(own_headers, settings_);
    for (std::size_t i = 0; i < commands_.size(); ++i)
      add(commands_[i], outcomes[i], places_[i], false);
    for (std::size_t i = 0; i < own_headers.size(); ++i) // behind all sources
      add(own_headers[i], of_headers[i], kBehindSources + unread[i], true);
    noteContents(summary, compile_commands_.stubs());
    const std::size_t files = summary.units.size();
    const std::string text = writeSummary(std::move(summary), repository_, programVersion());
    if (auto written = core::writeFile(options_.summary, [&](std::ostream &out) { out << text; });
        !written)
      return core::failure("--summary=" + options_.summary + ": " + written.error().message);
    if (llvm::sys::Process::StandardErrIsDisplayed())
      llvm::errs() << "devsan check: summary of " << core::countText(files, "file") << ", in "
                   << core::printable(options_.summary) << "\n";
    return kClean;
  }

  void analyze() {
    const Processes::Clock::time_point began = Processes::Clock::now();
    std::vector<FileOutcome> outcomes =
        setup_.summaries ? std::move(outcomes_) : analyzed(commands_, settings_);
    if (options_.diff.empty() && options_.shard.count == 1 && !setup_.summaries)
      if (std::vector<CompileCommand> unread = headersNotRead(headers_, outcomes);
          !unread.empty()) {
        std::ranges::move(analyzed(unread, settings_), std::back_inserter(outcomes));
        std::ranges::move(unread, std::back_inserter(commands_));
      }
    // Others of the project may be read for as long as these may have taken.
    const Processes::Clock::duration own_time =
        setup_.summaries ? std::chrono::seconds(outcomes.size()) : Processes::Clock::now() - began;
    keepHeadersOnly(commands_, outcomes);
    dropUnchanged(outcomes);
    resolveAcrossFiles(outcomes, own_time);
    if (!options_.alone)
      left_out_ = leaveOutByPrograms(programs_, commands_, outcomes);
    all_ = collect(commands_, std::move(outcomes), options_);
    std::erase_if(all_.findings, [&](const core::Finding &finding) {
      return isExcluded(finding.locations.front().file); // a header
    });
  }

  void dropUnchanged(std::vector<FileOutcome> &outcomes) const {
    if (!changes_)
      return;
    for (FileOutcome &outcome : outcomes)
      if (outcome.result)
        dropFindings(*outcome.result, [&](const core::Finding &finding, const auto &context) {
          return !changes_->touches(finding, context);
        });
  }

  void resolveAcrossFiles(std::vector<FileOutcome> &outcomes, Processes::Clock::duration own_time) {
    RelatedFiles related(settings_, own_time);
    resolveCrossFileFindings(
        commands_, outcomes, options_.alone,
        [&](const std::string &file) { return !programs_.useAround(file).from_elsewhere; },
        [&](const std::vector<std::string> &some, Around around) {
          return otherProjectFiles(some, around, commands_, setup_.files, project_, options_);
        },
        [&](const std::vector<std::string> &some) {
          auto more = commandsOf(some, compile_commands_);
          return more ? related.read(*more,
                                     [&](const std::vector<CompileCommand> &commands,
                                         const AnalysisSettings &settings) {
                                       return analyzed(commands, settings);
                                     })
                      : std::vector<FileOutcome>(some.size());
        });
    related_note_ = related.note();
  }

  void summarize() {
    summary_.tool = "devsan check";
    summary_.subject = subjectOf(
        options_, headers_.empty() && !setup_.summaries ? commands_.size() : setup_.files.size(),
        setup_.files.size(), setup_.excluded);
    if (all_.not_analysed)
      summary_.subject += ", " + std::to_string(all_.not_analysed) + " not analysed";
    summary_.notes = std::move(all_.notes);
    if (!related_note_.empty())
      summary_.notes.push_back(related_note_);
    if (all_.lacks_standard_library)
      summary_.notes.insert(summary_.notes.begin(),
                            "no C++ standard library found: install g++, or only the headers that "
                            "it uses (Debian's libstdc++-12-dev)");
    if (all_.lacks_torch)
      summary_.notes.insert(summary_.notes.begin(),
                            "no LibTorch found: name the folder of the installed torch package "
                            "with --torch=DIR, its Python with --python=FILE, or the folder of "
                            "compile_commands.json with -p DIR");
    for (const fs::path file : setup_.hiding)
      summary_.notes.push_back(
          shortPath(file.parent_path()) + ": not analysed: it holds sources, but " +
          file.filename().string() +
          " marks it as a build or an environment; name the folder to have it analysed");
    llvm::append_range(summary_.notes, notesOf(left_out_));
    llvm::append_range(summary_.notes, project_.ignoredProjectFiles());
    identify(all_.findings, repository_);
    summary_.suppressed =
        all_.suppressed + std::erase_if(all_.findings, [&](const core::Finding &finding) {
          return setup_.suppressions.covers(finding);
        });
    std::vector<core::Finding> seen_from_here = all_.findings;
    showPathsFromHere(seen_from_here, repository_);
    core::SourceLines lines;
    llvm::append_range(summary_.notes, core::mistakenNolints(seen_from_here, lines));
  }

  bool wants(std::string_view rule) const {
    return wanted_.contains(llvm::StringRef(rule.data(), rule.size()));
  }

  // What was not looked at is neither gone from the baseline nor taken out of it, unless it never
  // is; and its suppressions are not unused.
  core::Result<void> applyBaseline() {
    summary_.partial = !all_.complete || changes_ || options_.shard.count != 1;
    if (!summary_.partial)
      summary_.unused_suppressions = setup_.suppressions.unused(
          [&](const core::Rule &rule) { return rule.on_static && wants(rule.id); },
          core::Suppressions::Seen{absolutePaths(options_.inputs),
                                   namesOf(all_.files_read, repository_)});
    const auto looked_at = [&](const std::string &rule, const std::string &file) {
      const std::string path =
          repository_.empty() || file.starts_with("/") ? file : repository_ + "/" + file;
      return wants(rule) &&
             (all_.files_read.contains(path) || isExcluded(path) || !llvm::sys::fs::exists(path));
    };
    return setup_.baseline.apply(all_.findings, {core::Origin::kStatic}, summary_, looked_at);
  }

  void noteWhatIsMissing() {
    if (!silence_.empty())
      summary_.notes.push_back("not analysed: " + silence_);
    broken_off_ = until_ && Processes::Clock::now() >= *until_;
    if (broken_off_)
      summary_.notes.push_back("the run took longer than " +
                               std::to_string(options_.total_limit.count()) +
                               " s (--total-timeout): not all of the project was looked at");
    summary_.partial = all_.not_analysed != 0 || broken_off_ || !silence_.empty();
  }

  core::Result<void> fix() {
    const auto broken = [&](const std::map<std::string, std::string> &texts) {
      return brokenBy(texts, all_.readers, commands_, settings_);
    };
    FixOutcome fixed =
        applyFixes(all_.findings, {repository_, std::move(all_.texts), rootsOf(options_.inputs),
                                   options_.only_show_fixes, options_.fix_all, broken});
    if (fixed.findings)
      summary_.notes.push_back(core::countText(fixed.findings, "finding") +
                               " fixed in the sources and left out of this report");
    std::ranges::move(fixed.skipped, std::back_inserter(summary_.notes));
    std::cout << fixed.diff;
    if (!std::cout.flush())
      return core::failure("cannot write the difference to stdout");
    return {};
  }

  bool lacksStrict() const { return options_.strict.value_or(false) && !all_.complete; }

  void judge() {
    new_findings_ = std::ranges::count(all_.findings, false, &core::Finding::known);
    const core::FailOn fail_on =
        options_.fail_on.value_or(core::FailOn{.severity = core::Severity::kNote, .rules = {}});
    const std::size_t failing = std::ranges::count_if(
        all_.findings, [&](const core::Finding &finding) { return fail_on.covers(finding); });
    summary_.verdict = core::verdictFor(fail_on.reasons(all_.findings));
    if (all_.not_analysed || !silence_.empty() || broken_off_ || lacksStrict())
      summary_.verdict = {core::Verdict::Outcome::kNotAnalysed};
    else if (summary_.verdict.outcome == core::Verdict::Outcome::kPassed && !all_.complete)
      summary_.verdict.outcome = core::Verdict::Outcome::kPassedInPart;
    if (!setup_.is_told_what_fails && failing < new_findings_)
      summary_.notes.push_back("'fail-on' of " + project_.path() + " lets " +
                               core::countText(new_findings_ - failing, "finding") + " pass");
  }

  core::Result<int> report() {
    if (options_.format == core::ReportFormat::kText)
      showPathsFromHere(all_.findings, repository_);
    if (setup_.summaries) // which may say anything
      summary_.sources_below = repository_;
    if (auto written = writeReport(options_, all_.findings, summary_, repository_); !written)
      return tl::unexpected(written.error());
    if (!options_.output.empty())
      llvm::errs() << core::printable(core::headline(summary_) + ": " +
                                      core::countText(new_findings_, "finding") + ", in " +
                                      options_.output)
                   << "\n";
    if (all_.not_analysed)
      llvm::errs() << "devsan check: error: " << all_.not_analysed << " of "
                   << core::countText(commands_.size(), "file")
                   << " not analysed; the report names them\n";
    else if (!silence_.empty())
      llvm::errs() << "devsan check: error: not analysed: " << core::printable(silence_) << "\n";
    else if (!broken_off_ && lacksStrict())
      llvm::errs()
          << "devsan check: error: not all files parsed as a whole, which --strict asks for; "
             "the report's notes name them\n";
    return core::exitStatus(summary_.verdict, kFindings);
  }

  Setup setup_;
  const Options &options_;
  const ProjectSettings &project_;
  std::string repository_;
  std::optional<Processes::Clock::time_point> until_;
  CompileCommands compile_commands_;
  clang::tidy::GlobList wanted_;
  std::vector<CompileCommand> commands_, headers_;
  std::vector<std::size_t> places_;   // of the commands among those of all parts
  std::vector<FileOutcome> outcomes_; // of the summaries
  std::optional<Changes> changes_;    // under --diff
  std::string silence_;               // why the run looks at nothing; else empty
  AnalysisSettings settings_;
  Collected all_;
  std::string related_note_;
  ProjectPrograms programs_;
  LeftOut left_out_;
  bool broken_off_ = false;
  std::size_t new_findings_ = 0;
  core::Summary summary_;
};

} // namespace

core::Result<int> check(Options options) {
  core::limitMemory(options.memory, "devsan check");
  const std::optional<Processes::Clock::time_point> until = startRunLimit(options.total_limit);
  auto setup = setUp(std::move(options));
  if (!setup)
    return tl::unexpected(setup.error());
  return Run(std::move(*setup), until).check();
}

} // namespace devsan::analyzer
