#include "command/project.h"
#include "command/run_options.h"
#include "core/system/whole_file.h"
#include "core/text/terminal_text.h"

#include <cstdio>
#include <set>
#include <utility>

namespace devsan::command {

namespace fs = std::filesystem;

namespace {

template <typename T>
core::Result<void> judged(const core::ProjectSetting &setting, const core::Result<T> &result) {
  if (!result)
    return core::failure(setting.where + ": " + result.error().message);
  return {};
}

// Fills `argument` from the setting, if there is one, after `judge` has taken it.
template <typename Argument, typename Judge>
core::Result<void> fill(const core::ProjectFile &file, const std::string &key, bool given,
                        Argument &argument, const Judge &judge) {
  const core::ProjectSetting *setting = file.run.find(key);
  if (!setting)
    return {};
  // Judged even where the command line goes before it: a mistake should not wait for its day.
  core::Result<void> good = judged(*setting, judge(key, setting->text));
  if (good && !given)
    argument = setting->text;
  return good;
}

std::string ruleOf(const std::string &budget) {
  return budget.substr(0, budget.find('='));
}

// A rule that the command line limits, in the run or in each step, has only the command line's
// limits.
core::Result<void> fillBudgets(const core::ProjectFile &file, std::vector<std::string> &budgets) {
  std::set<std::string> given;
  for (const std::string &budget : budgets)
    given.insert(ruleOf(budget));
  for (const core::ProjectSetting &budget : file.budgets) {
    // Rules are judged by whoever reads the file.
    if (!parseFailureCriteria(kDefaultFailOn, {budget.text}))
      return core::failure(budget.where + ": '" + ruleOf(budget.text) +
                           "' must be a number from 0, or a string such as \"1/step\", but is " +
                           budget.text.substr(budget.text.find('=') + 1));
    if (!given.contains(ruleOf(budget.text)))
      budgets.push_back(budget.text);
  }
  return {};
}

void fillOwn(const core::ProjectFile &file, std::vector<std::string> &own) {
  if (own.empty())
    for (const core::ProjectSetting &glob : file.own)
      own.push_back(glob.text);
}

core::Result<void> fillReports(const core::ProjectFile &file, RunArguments &arguments) {
  const bool given = !arguments.reports.empty();
  for (const core::ProjectSetting &report : file.reports) {
    if (core::Result<void> good = judged(report, parseReportFile("report", report.text)); !good)
      return good;
    if (!given)
      arguments.reports.push_back(report.text);
  }
  return {};
}

// What does not count is said once.
core::Result<core::FoundProjectFile> readProjectFile() {
  std::error_code error;
  core::Result<core::FoundProjectFile> found = core::findProjectSettings(fs::current_path(error));
  static bool said = false;
  if (found && !found->passed_over.empty() && !std::exchange(said, true))
    std::fprintf(stderr, "devsan: note: %s\n", core::printable(found->passed_over).c_str());
  return found;
}

} // namespace

core::Result<void> applyProjectBudgets(std::vector<std::string> &budgets) {
  const core::Result<core::FoundProjectFile> found = readProjectFile();
  if (!found)
    return tl::unexpected(found.error());
  return fillBudgets(found->file, budgets);
}

core::Result<core::Ownership> readOwnership(std::vector<std::string> own) {
  const core::Result<core::FoundProjectFile> found = readProjectFile();
  if (!found)
    return tl::unexpected(found.error());
  fillOwn(found->file, own);
  return core::Ownership(std::move(own));
}

core::Result<void> applyProjectFile(RunArguments &arguments) {
  const core::Result<core::FoundProjectFile> found = readProjectFile();
  if (!found)
    return tl::unexpected(found.error());
  if (!found->passed_over.empty() && arguments.strict.value_or(false))
    return core::failure(core::notWhenStrict(found->passed_over));
  const core::ProjectFile &file = found->file;
  const auto any = [](const std::string &, const std::string &value) {
    return core::Result<std::string>(value);
  };
  core::Result<void> good =
      fill(file, "sim", !arguments.sim.empty(), arguments.sim, parseSimulatedDevices);
  // These two are nothing without simulated devices, which the command line may have left out.
  const bool simulates = !arguments.sim.empty();
  if (good)
    good = fill(file, "sim-memory", !arguments.sim_memory.empty() || !simulates,
                arguments.sim_memory, parseDeviceMemory);
  if (good)
    good = fill(file, "sim-protect", !arguments.sim_protect.empty() || !simulates,
                arguments.sim_protect, parseSwitch);
  if (good)
    good = fill(file, "fail-on", arguments.fail_on.has_value(), arguments.fail_on, parseFailOn);
  const bool names_baseline = !arguments.baseline.empty();
  if (good)
    good = fill(file, "baseline", names_baseline, arguments.baseline, any);
  arguments.baseline_is_found = !names_baseline;
  if (good)
    good = fill(file, "transfer", !arguments.transfer.empty(), arguments.transfer,
                parseTransferLevels);
  if (good)
    good = fill(file, "sync", !arguments.sync.empty(), arguments.sync, parseSyncLevel);
  if (good)
    good = fill(file, "warmup", !arguments.warmup.empty(), arguments.warmup, parseWarmup);
  if (const core::ProjectSetting *strict = file.run.find("strict"); strict && !arguments.strict)
    arguments.strict = strict->text == "true";
  if (good)
    good = fillBudgets(file, arguments.budgets);
  if (good)
    good = fillReports(file, arguments);
  fillOwn(file, arguments.own);
  return good;
}

core::Result<core::Suppressions> readSuppressions(const std::vector<std::string> &files) {
  core::Suppressions suppressions;
  const core::Result<core::FoundProjectFile> project = readProjectFile();
  if (!project)
    return tl::unexpected(project.error());
  if (!project->path.empty())
    if (core::Result<void> added = suppressions.add(project->text, project->path, "suppressions");
        !added)
      return tl::unexpected(added.error());
  for (const std::string &file : files) {
    const core::Result<std::string> text = core::readNamedFile(file, core::kMaxSettings);
    if (!text)
      return tl::unexpected(text.error());
    if (core::Result<void> added = suppressions.add(*text, file, ""); !added)
      return tl::unexpected(added.error());
  }
  return suppressions;
}

} // namespace devsan::command
