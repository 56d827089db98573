#include "command/allowed.h"
#include "command/commands.h"
#include "command/observed.h"
#include "command/process/bounded.h"
#include "command/project.h"
#include "command/trace_file.h"
#include "command/verdict.h"
#include "core/finding/fingerprint.h"
#include "core/finding/merge.h"
#include "core/report/compare.h"
#include "core/report/explain.h"
#include "core/system/project_root.h"
#include "core/system/source_text.h"
#include "core/system/whole_file.h"
#include "core/text/plain_stream.h"
#include "core/text/terminal_text.h"
#include "runtime/analysis/explain.h"
#include "runtime/protocol/log_format.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/ranges.h>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <unistd.h>

namespace devsan::command {
namespace {

namespace fs = std::filesystem;

constexpr const char *kTool = "devsan report";
constexpr unsigned kSeconds = 50; // beside those for the size of the logs
constexpr const char *kCheckTool = "devsan check";
constexpr const char *kValidInputs =
    "valid: JSON reports (devsan/1), event logs (.devsanlog), and folders of event logs "
    "(`devsan run --keep-logs=DIR`)";

// A report in a file, or the event logs of one run.
struct Input {
  std::string name;           // as the user wrote it
  fs::path report;            // absolute; empty for logs
  std::vector<fs::path> logs; // absolute
  fs::path folder;            // of the logs
};

// What is no file is read once, as a report.
bool isLog(const fs::path &path) {
  std::uint64_t magic = 0;
  const std::string head = core::readHead(path, sizeof magic);
  std::memcpy(&magic, head.data(), head.size());
  return magic == runtime::kLogMagic;
}

// The runs below a folder: it holds one itself, or its folders do.
core::Result<void> addFolder(const std::string &name, const fs::path &folder,
                             std::vector<Input> &inputs) {
  std::vector<fs::path> folders{folder};
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->is_directory(error))
      folders.push_back(entry->path());
  if (error)
    return core::failure("cannot read " + name + ": " + error.message());
  std::sort(folders.begin() + 1, folders.end());
  const std::size_t before = inputs.size();
  for (const fs::path &candidate : folders) {
    core::Result<std::vector<fs::path>> logs = runtime::logsIn(candidate);
    if (!logs)
      return tl::unexpected(logs.error());
    if (!logs->empty() || fs::exists(candidate / "run.json", error))
      inputs.push_back({candidate, {}, std::move(*logs), candidate});
  }
  if (inputs.size() == before)
    return core::failure(name + ": the folder holds no event logs; " + kValidInputs);
  return {};
}

core::Result<std::vector<Input>> findInputs(const std::vector<std::string> &names) {
  std::vector<Input> inputs;
  for (const std::string &name : names) {
    std::error_code error;
    const fs::path path = fs::absolute(name, error);
    if (fs::is_directory(path, error)) {
      if (core::Result<void> added = addFolder(name, path, inputs); !added)
        return tl::unexpected(added.error());
    } else if (isLog(path) || path.extension() == ".devsanlog") {
      inputs.push_back({name, {}, {path}, path.parent_path()});
    } else {
      inputs.push_back({name, path, {}, {}});
    }
  }
  return inputs;
}

std::vector<fs::path> logsOf(const std::vector<std::string> &names) {
  std::vector<fs::path> logs;
  if (const core::Result<std::vector<Input>> inputs = findInputs(names))
    for (const Input &input : *inputs)
      logs.insert(logs.end(), input.logs.begin(), input.logs.end());
  return logs;
}

void enter(const fs::path &directory) {
  std::error_code error;
  fs::current_path(core::projectRootOf(directory), error);
}

// What a trace needs, of one input after the other.
struct TraceInputs {
  std::vector<runtime::ObservedProcesses> runs;
  std::uint32_t processes = 0;
};

// What the logs lack, in `unseen`, where they lack something.
core::Result<core::Report> readLogs(const Input &input, const InstallTree &tree,
                                    FindingFilter &filter, std::string &unseen,
                                    TraceInputs *trace = nullptr) {
  core::Result<RunFacts> facts = readRunFacts(input.folder);
  if (!facts)
    return tl::unexpected(facts.error());
  // The caller's project: whoever wrote the logs may name any folder as theirs.
  std::error_code error;
  const fs::path project = core::projectRootOf(fs::current_path(error));
  enter(facts->working_directory);
  core::Report report;
  report.summary.subject = facts->command;
  report.summary.partial = facts->ended_early || !facts->missing.empty();
  report.summary.notes = facts->missing;
  runtime::Analysis analysis =
      runtime::analyse(input.logs, {tree.symbolizer(), facts->working_directory, filter.function(),
                                    trace != nullptr, trace ? trace->processes : 0});
  if (!analysis.unreadable.empty())
    return core::failure(analysis.unreadable.front() + "; " + kValidInputs);
  if (trace) {
    trace->processes += static_cast<std::uint32_t>(analysis.observed.processes.size());
    trace->runs.push_back(std::move(analysis.observed));
  }
  const bool is_incomplete = analysis.incomplete || !facts->missing.empty();
  takeAnalysis(report, std::move(analysis), *facts, filter.ownership());
  report.summary.suppressed = takeAllowed(input.folder, report.findings);
  if (is_incomplete)
    unseen = report.summary.notes.empty() ? input.name : report.summary.notes.front();
  core::assignFingerprints(report.findings);
  for (core::Finding &finding : report.findings)
    if (!finding.locations.empty() && !core::liesBelow(finding.locations.front().file, project))
      finding.statement.clear();
  return report;
}

core::Result<core::Report> readJson(const Input &input, FindingFilter &filter) {
  core::Result<std::string> text = core::readNamedFile(input.report, core::kMaxReport);
  if (!text)
    return core::failure(text.error().message + "; " + kValidInputs);
  core::Result<core::Report> report = core::readReport(*text, input.name);
  if (!report)
    return core::failure(report.error().message + "; " + kValidInputs);
  std::erase_if(report->findings, filter.function());
  return report;
}

std::vector<std::string> inBoth(const std::vector<std::string> &a,
                                const std::vector<std::string> &b) {
  std::vector<std::string> both;
  std::ranges::copy_if(a, std::back_inserter(both), [&](const std::string &line) {
    return std::ranges::find(b, line) != b.end();
  });
  return both;
}

// One report at a time; what is kept is what differs.
class MergedReport {
public:
  void add(core::Report report) {
    merger_.add(std::move(report.findings));
    core::Summary &all = report_.summary, &one = report.summary;
    all.suppressed += one.suppressed;
    // What one shard of the tests does not use, another may.
    all.unused_suppressions =
        count_ ? inBoth(all.unused_suppressions, one.unused_suppressions) : one.unused_suppressions;
    for (std::string &note : one.notes)
      if (std::ranges::find(all.notes, note) == all.notes.end())
        all.notes.push_back(std::move(note));
    ranks_.insert(one.ranks.begin(), one.ranks.end());
    all.partial |= one.partial;
    all.basis.simulated |= one.basis.simulated;
    all.basis.wall_ns = std::max(all.basis.wall_ns, one.basis.wall_ns);
    all.basis.steps = std::max(all.basis.steps, one.basis.steps);
    std::ranges::move(one.step_times, std::back_inserter(all.step_times));
    subjects_.insert(one.subject);
    ++count_;
  }

  core::Report take() {
    core::Summary &all = report_.summary;
    all.tool = kTool;
    all.subject = std::to_string(count_) + (count_ == 1 ? " report" : " reports");
    if (subjects_.size() == 1)
      all.subject += " of " + *subjects_.begin();
    all.ranks.assign(ranks_.begin(), ranks_.end());
    core::limitColumns(all.step_times);
    report_.findings = merger_.take();
    return std::move(report_);
  }

private:
  core::Report report_;
  core::Merger merger_;
  std::set<int> ranks_;
  std::set<std::string> subjects_;
  std::size_t count_ = 0;
};

std::set<core::Origin> originsOf(const core::Report &report) {
  std::set<core::Origin> origins{report.summary.tool == kCheckTool ? core::Origin::kStatic
                                                                   : core::Origin::kRuntime};
  for (const core::Finding &finding : report.findings)
    origins.insert(finding.origin);
  return origins;
}

core::Terminal terminalFor(const fs::path &output, core::ColorMode color) {
  return output.empty() ? core::terminalOf(STDOUT_FILENO, color) : core::Terminal{};
}

// To stdout where there is no file.
core::Result<void> writeTo(const fs::path &output,
                           const std::function<void(std::ostream &)> &content) {
  if (!output.empty())
    return core::writeFile(output, content);
  content(std::cout);
  if (!std::cout.flush())
    return core::failure("cannot write the report to stdout");
  return {};
}

core::Result<void> writeOutput(core::ReportFormat format, const fs::path &output,
                               const std::vector<core::Report> &reports, core::ColorMode color) {
  const core::Terminal terminal = terminalFor(output, color);
  const auto content = [&](std::ostream &out) {
    for (const core::Report &report : reports)
      core::writeReport(out, format, report.findings, report.summary, {.terminal = terminal});
  };
  return writeTo(output, content);
}

core::Result<core::Report> readInput(const Input &input, const InstallTree &tree,
                                     FindingFilter &filter, std::string &unseen) {
  const std::uint64_t suppressed = filter.suppressed();
  core::Result<core::Report> report =
      input.report.empty() ? readLogs(input, tree, filter, unseen) : readJson(input, filter);
  if (!report)
    return report;
  if (report->summary.tool.empty())
    report->summary.tool = kTool;
  report->summary.suppressed += filter.suppressed() - suppressed;
  return report;
}

// Whether a verdict was asked for, which nobody can give who has not seen everything.
bool isGate(const ReportArguments &arguments) {
  return arguments.update_baseline || (arguments.fail_on && *arguments.fail_on != "none") ||
         !arguments.budgets.empty();
}

// Options that say something about one report are no help with two.
core::Result<void> judgeCompareArguments(const ReportArguments &arguments) {
  if (arguments.merge || !arguments.budgets.empty() || !arguments.baseline.empty())
    return core::failure("--compare cannot be used with --merge, --max or --baseline: OLD already "
                         "serves as the baseline");
  if (arguments.inputs.size() != 2)
    return core::failure("--compare takes two reports, OLD and NEW, but got " +
                         std::to_string(arguments.inputs.size()));
  return {};
}

void writeComparison(std::ostream &out, core::ReportFormat format,
                     const core::Comparison &comparison, core::Terminal terminal) {
  switch (format) {
  case core::ReportFormat::kText:
    out << core::compareText(comparison, terminal);
    break;
  case core::ReportFormat::kJson:
    core::PlainStream(out, core::Notation::kJson) << core::compareJson(comparison);
    break;
  case core::ReportFormat::kHtml: {
    core::PlainStream plain(out, core::Notation::kJson);
    core::writeCompareHtml(plain, comparison);
    break;
  }
  case core::ReportFormat::kMarkdown:
    out << core::printableLines(core::compareMarkdown(comparison));
    break;
  // These say where to act: what was there already is no part of them.
  case core::ReportFormat::kSarif:
  case core::ReportFormat::kGithub:
  case core::ReportFormat::kJunit:
    const core::Report fresh = core::newFindings(comparison);
    core::writeReport(out, format, fresh.findings, fresh.summary);
    break;
  }
}

core::Result<FindingFilter> readFilter(const ReportArguments &arguments) {
  core::Result<core::Suppressions> suppressions = readSuppressions(arguments.suppressions);
  if (!suppressions)
    return tl::unexpected(suppressions.error());
  core::Result<core::Ownership> ownership = readOwnership(arguments.own);
  if (!ownership)
    return tl::unexpected(ownership.error());
  return FindingFilter(std::move(*suppressions), std::move(*ownership));
}

// Reading an input changes the current folder.
fs::path outputOf(const ReportArguments &arguments) {
  std::error_code error;
  return arguments.output.empty() ? fs::path() : fs::absolute(arguments.output, error);
}

core::Result<int> compareReports(const InstallTree &tree, const ReportArguments &arguments) {
  if (core::Result<void> good = judgeCompareArguments(arguments); !good)
    return tl::unexpected(good.error());
  core::Result<core::ReportFormat> format = core::parseReportFormat(arguments.format);
  if (!format)
    return core::failure("--compare: " + format.error().message);
  core::Result<core::ColorMode> color = core::parseColorMode(arguments.color);
  if (!color)
    return tl::unexpected(color.error());
  core::Result<FailureCriteria> failure =
      parseFailOn("--fail-on", arguments.fail_on.value_or(kDefaultFailOn));
  if (!failure)
    return tl::unexpected(failure.error());
  core::Result<FindingFilter> filter = readFilter(arguments);
  if (!filter)
    return tl::unexpected(filter.error());
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path output = outputOf(arguments);
  std::string unseen;
  std::vector<core::Report> sides;
  for (const std::string &name : arguments.inputs) {
    core::Result<std::vector<Input>> inputs = findInputs({name});
    if (!inputs)
      return tl::unexpected(inputs.error());
    // A folder may hold the runs of several hosts, which are one report.
    MergedReport merged;
    for (const Input &input : *inputs) {
      enter(here);
      core::Result<core::Report> report = readInput(input, tree, *filter, unseen);
      if (!report)
        return tl::unexpected(report.error());
      merged.add(std::move(*report));
    }
    enter(here);
    sides.push_back(merged.take());
    sides.back().summary.subject = name;
    sides.back().summary.sources_below = fs::current_path(error);
  }
  core::Comparison comparison = core::compare(std::move(sides[0]), std::move(sides[1]));
  core::Verdict &verdict = comparison.after.verdict;
  verdict = core::verdictFor(failure->reasons(comparison.fresh));
  if (!unseen.empty())
    limitToObserved(verdict, isGate(arguments));
  const auto content = [&](std::ostream &out) {
    writeComparison(out, *format, comparison, terminalFor(output, *color));
  };
  if (core::Result<void> written = writeTo(output, content); !written)
    return tl::unexpected(written.error());
  if (*format == core::ReportFormat::kGithub)
    if (core::Result<void> written = appendJobSummary(core::compareMarkdown(comparison)); !written)
      return tl::unexpected(written.error());
  const int status = statusOf(verdict);
  return status == kCannotStart ? failWithoutVerdict(unseen) : status;
}

// A trace shows what happened, and judges nothing.
core::Result<void> judgeTraceArguments(const ReportArguments &arguments) {
  if (arguments.fail_on || !arguments.budgets.empty() || !arguments.baseline.empty() ||
      arguments.update_baseline)
    return core::failure("--format=trace takes neither --fail-on nor --max nor --baseline");
  if (arguments.inputs.size() > 1 && !arguments.merge)
    return core::failure("--format=trace writes one trace of all inputs: add --merge");
  if (auto color = core::parseColorMode(arguments.color); !color)
    return tl::unexpected(color.error());
  return {};
}

core::Result<int> makeTrace(const InstallTree &tree, const ReportArguments &arguments) {
  if (core::Result<void> good = judgeTraceArguments(arguments); !good)
    return tl::unexpected(good.error());
  core::Result<FindingFilter> filter = readFilter(arguments);
  if (!filter)
    return tl::unexpected(filter.error());
  core::Result<std::vector<Input>> inputs = findInputs(arguments.inputs);
  if (!inputs)
    return tl::unexpected(inputs.error());
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path output = outputOf(arguments);
  TraceInputs trace;
  MergedReport merged;
  std::string unseen; // the trace shows it
  for (const Input &input : *inputs) {
    if (!input.report.empty())
      return core::failure(input.name + ": a trace is made of event logs (.devsanlog) and folders "
                                        "of them (`devsan run --keep-logs=DIR --trace=FILE`)");
    enter(here);
    core::Result<core::Report> report = readLogs(input, tree, *filter, unseen, &trace);
    if (!report)
      return tl::unexpected(report.error());
    merged.add(std::move(*report));
  }
  enter(here);
  const core::Report report = merged.take();
  if (!output.empty()) {
    if (core::Result<void> written = writeTraceFile(output, trace.runs, report); !written)
      return tl::unexpected(written.error());
  } else {
    writeTrace(std::cout, trace.runs, report);
    if (!std::cout.flush())
      return core::failure("cannot write the trace to stdout");
  }
  return kSuccess;
}

// For those who do not know the fingerprint yet.
std::string fingerprintsText(const std::vector<core::Finding> &findings) {
  constexpr std::size_t kMaxNamed = 50;
  std::string text;
  for (std::size_t i = 0; i < findings.size() && i < kMaxNamed; ++i) {
    const core::Location place = core::ownPlace(findings[i]);
    text += fmt::format("\n  {} {} {}{}", findings[i].fingerprint, findings[i].rule, place.file,
                        place.line ? fmt::format(":{}", place.line) : "");
  }
  return text + (findings.size() > kMaxNamed ? "\n  …" : "");
}

core::Result<int> explainFinding(const InstallTree &tree, const ReportArguments &arguments) {
  if (arguments.merge || arguments.fail_on || !arguments.budgets.empty() ||
      !arguments.baseline.empty() || arguments.format != "text" || arguments.inputs.size() != 1)
    return core::failure("--explain takes one report or folder of logs, and of the options -o, "
                         "--own and --suppressions alone");
  core::Result<FindingFilter> filter = readFilter(arguments);
  if (!filter)
    return tl::unexpected(filter.error());
  core::Result<std::vector<Input>> inputs = findInputs(arguments.inputs);
  if (!inputs)
    return tl::unexpected(inputs.error());
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path output = outputOf(arguments);
  std::vector<core::Finding> others;
  for (const Input &input : *inputs) {
    enter(here);
    std::string unseen;
    TraceInputs trace;
    core::Result<core::Report> report = input.report.empty()
                                            ? readLogs(input, tree, *filter, unseen, &trace)
                                            : readJson(input, *filter);
    if (!report)
      return tl::unexpected(report.error());
    const auto finding =
        std::ranges::find(report->findings, arguments.explain, &core::Finding::fingerprint);
    if (finding == report->findings.end()) {
      std::ranges::move(report->findings, std::back_inserter(others));
      continue;
    }
    std::string text = core::explanation(*finding, report->summary);
    for (const runtime::ObservedProcesses &run : trace.runs)
      text += runtime::explainEvents(run, *finding);
    if (trace.runs.empty() && finding->origin == core::Origin::kRuntime)
      text += "events: a report holds none; `devsan run --keep-logs=DIR` keeps them\n";
    enter(here);
    if (core::Result<void> written = writeTo(output, [&](std::ostream &out) { out << text; });
        !written)
      return tl::unexpected(written.error());
    return kSuccess;
  }
  return core::failure(
      fmt::format("no finding has the fingerprint '{}'; {}", arguments.explain,
                  others.empty() ? "there are none" : "there are:" + fingerprintsText(others)));
}

core::Result<int> makeReport(const InstallTree &tree, ReportArguments arguments) {
  core::Result<core::ReportFormat> format = core::parseReportFormat(arguments.format);
  if (!format)
    return core::failure(format.error().message + ", trace");
  core::Result<core::ColorMode> color = core::parseColorMode(arguments.color);
  if (!color)
    return tl::unexpected(color.error());
  if (core::Result<void> applied = applyProjectBudgets(arguments.budgets); !applied)
    return tl::unexpected(applied.error());
  core::Result<FailureCriteria> failure =
      parseFailureCriteria(arguments.fail_on.value_or(kDefaultFailOn), arguments.budgets);
  if (!failure)
    return tl::unexpected(failure.error());
  core::Result<FindingFilter> filter = readFilter(arguments);
  if (!filter)
    return tl::unexpected(filter.error());
  core::Result<core::BaselineFile> baseline =
      core::BaselineFile::open(arguments.baseline, arguments.update_baseline);
  if (!baseline)
    return tl::unexpected(baseline.error());
  core::Result<std::vector<Input>> inputs = findInputs(arguments.inputs);
  if (!inputs)
    return tl::unexpected(inputs.error());
  const bool single = inputs->size() == 1;
  const bool is_document =
      *format == core::ReportFormat::kJson || *format == core::ReportFormat::kSarif ||
      *format == core::ReportFormat::kHtml || *format == core::ReportFormat::kJunit;
  if (!single && !arguments.merge && (is_document || baseline->updates()))
    return core::failure(std::to_string(inputs->size()) + " reports have no common " +
                         (baseline->updates()                    ? "baseline"
                          : *format == core::ReportFormat::kHtml ? "page"
                                                                 : "JSON report") +
                         " unless they are merged: add --merge");
  std::error_code error;
  const fs::path output = outputOf(arguments);
  const fs::path here = fs::current_path(error);

  MergedReport merged;
  std::string unseen;
  std::set<core::Origin> origins;
  std::vector<core::Report> reports;
  for (const Input &input : *inputs) {
    enter(here);
    core::Result<core::Report> report = readInput(input, tree, *filter, unseen);
    if (!report)
      return tl::unexpected(report.error());
    origins.merge(originsOf(*report));
    if (arguments.merge)
      merged.add(std::move(*report));
    else
      reports.push_back(std::move(*report));
  }
  enter(here);
  if (arguments.merge)
    reports.push_back(merged.take());
  // A report may name any file, and whoever reads it need not be who made it.
  for (core::Report &report : reports)
    report.summary.sources_below = fs::current_path(error);

  int status = kSuccess;
  bool partial = false;
  for (core::Report &report : reports) {
    if (core::Result<void> judged = judge(report, *failure, *baseline, origins); !judged)
      return tl::unexpected(judged.error());
    core::Verdict &verdict = report.summary.verdict;
    if (report.summary.partial)
      limitToObserved(verdict, isGate(arguments) && !unseen.empty());
    // Failed goes before what nobody can tell.
    if (const int own = statusOf(verdict); status != kFindings && own != kSuccess)
      status = own;
    // What one report does not hold, another may: only the last knows what none of them does.
    partial |= report.summary.partial;
    if (!arguments.baseline.empty() && (partial || &report != &reports.back()))
      report.summary.stale_baseline.clear();
  }
  if (core::Result<void> written = writeOutput(*format, output, reports, *color); !written)
    return tl::unexpected(written.error());
  if (*format == core::ReportFormat::kGithub)
    for (const core::Report &report : reports)
      if (core::Result<void> written =
              appendJobSummary(core::markdownReport(report.findings, report.summary));
          !written)
        return tl::unexpected(written.error());
  return status == kCannotStart ? failWithoutVerdict(unseen) : status;
}

} // namespace

int report(const InstallTree &tree, const ReportArguments &arguments) {
  // Beyond a limit on the size of files a write then fails; a closed pipe ends us as it ends
  // others.
  std::signal(SIGXFSZ, SIG_IGN);
  const auto work = [&] {
    core::Result<int> status = !arguments.explain.empty()    ? explainFinding(tree, arguments)
                               : arguments.compare           ? compareReports(tree, arguments)
                               : arguments.format == "trace" ? makeTrace(tree, arguments)
                                                             : makeReport(tree, arguments);
    return status ? *status : fail(status.error().message);
  };
  // What others wrote decides what it costs to read.
  const core::Result<int> status = runWithin(boundsFor(logsOf(arguments.inputs), kSeconds), work);
  return status ? *status
                : fail(fmt::format("{}: {}", fmt::join(arguments.inputs, ", "),
                                   status.error().message));
}

} // namespace devsan::command
