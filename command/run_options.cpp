#include "command/run_options.h"
#include "core/finding/rule_table.h"
#include "core/text/quantities.h"
#include "runtime/protocol/levels.h"
#include "runtime/protocol/options.h"
#include "runtime/sim/memory/memory_size.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <tuple>
#include <utility>

namespace devsan::command {
namespace {

// For each process: 15 MB of its log, and some 100 MB of a trace that is not compressed.
constexpr std::uint32_t kTracedEvents = 1 << 18;

template <typename Number> std::optional<Number> parseNumber(std::string_view text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::map<std::string, std::uint64_t> occurrences(std::span<const core::Finding> findings) {
  std::map<std::string, std::uint64_t> counts;
  for (const core::Finding &finding : findings)
    if (!finding.known)
      counts[finding.rule] += finding.count;
  return counts;
}

// How often a process has a rule's findings together in one step, at most, from what it has of
// each: how often at most in one step, and in which range of steps.
std::uint64_t worstStepOf(std::span<const core::StepLoad> loads) {
  std::map<std::uint64_t, std::int64_t> changes; // by step
  for (const core::StepLoad &load : loads) {
    changes[load.first] += static_cast<std::int64_t>(load.most);
    changes[load.last + 1] -= static_cast<std::int64_t>(load.most);
  }
  std::int64_t now = 0, most = 0;
  for (const auto &[step, change] : changes) {
    now += change;
    most = std::max(most, now);
  }
  return static_cast<std::uint64_t>(most);
}

struct WorstStep {
  std::uint64_t count = 0; // in the process and the step that have most
  bool has_steps = false;
};

// A run without steps is one step.
WorstStep worstStep(std::span<const core::Finding> findings, std::string_view rule) {
  WorstStep worst;
  std::map<std::uint64_t, std::vector<core::StepLoad>> loads; // by process
  for (const core::Finding &finding : findings) {
    if (finding.known || finding.rule != rule)
      continue;
    const core::Steps &steps = finding.steps;
    worst.has_steps |= steps.total > 0;
    // A report that does not tell processes apart is taken for one.
    if (finding.loads.empty())
      loads[0].push_back({0, steps.first, steps.last, steps.total ? steps.most : finding.count});
    for (const core::StepLoad &load : finding.loads)
      loads[load.process].push_back(load);
  }
  for (const auto &[process, own] : loads)
    worst.count = std::max(worst.count, worstStepOf(own));
  return worst;
}

} // namespace

std::vector<std::string> FailureCriteria::reasons(std::span<const core::Finding> findings) const {
  // A budget allows what a rule warns of. Where it is graver than its rule, the program forbids it.
  const auto is_budgeted = [&](const core::Finding &finding) {
    const core::Rule *rule = core::findRule(finding.rule);
    return (budgets.contains(finding.rule) || step_budgets.contains(finding.rule)) &&
           !(rule && finding.severity > rule->severity);
  };
  std::vector<core::Finding> unbudgeted;
  std::ranges::remove_copy_if(findings, std::back_inserter(unbudgeted), is_budgeted);
  std::vector<std::string> result = FailOn::reasons(unbudgeted);
  const std::multimap<std::string, std::string> exceeded = exceededBudgets(findings);
  for (auto rule = exceeded.begin(); rule != exceeded.end();
       rule = exceeded.upper_bound(rule->first))
    result.push_back(rule->first + " over its budget");
  return result;
}

bool FailureCriteria::countsNotes(std::span<const core::Finding> findings) const {
  return severity == core::Severity::kNote || !exceededBudgets(findings).empty();
}

std::multimap<std::string, std::string>
FailureCriteria::exceededBudgets(std::span<const core::Finding> findings) const {
  std::multimap<std::string, std::string> sentences;
  for (const auto &[rule, count] : occurrences(findings)) {
    auto budget = budgets.find(rule);
    if (budget != budgets.end() && count > budget->second)
      sentences.emplace(rule, "over budget: " + rule + " happened " + core::timesText(count) +
                                  ", the budget is " + std::to_string(budget->second));
  }
  for (const auto &[rule, allowed] : step_budgets) {
    const WorstStep load = worstStep(findings, rule);
    if (load.count <= allowed)
      continue;
    sentences.emplace(rule, "over budget: " + rule + " happened " +
                                (load.has_steps ? "up to " : "") + core::timesText(load.count) +
                                " " +
                                (load.has_steps ? "in one step"
                                                : "in a run without steps (see "
                                                  "devsan::step())") +
                                ", the budget is " + std::to_string(allowed) + "/step");
  }
  return sentences;
}

core::Result<int> parseSimulatedDevices(const std::string &name, const std::string &text) {
  std::optional<int> count = parseNumber<int>(text);
  if (!count || *count < 1 || *count > 64)
    return core::failure(name + "=" + text +
                         ": the number of simulated devices must be from 1 to 64");
  return *count;
}

core::Result<std::string> parseDeviceMemory(const std::string &name, const std::string &text) {
  if (!sim::parseMemorySize(text))
    return core::failure(name + "=" + text + ": the memory of a simulated device must be " +
                         std::string(sim::kMemorySizes));
  return text;
}

core::Result<bool> parseSwitch(const std::string &name, const std::string &text) {
  if (text != "on" && text != "off")
    return core::failure(name + "=" + text + ": write on or off");
  return text == "on";
}

namespace {

// Options spell words with hyphens, DEVSAN_OPTIONS with underscores; both are taken.
std::string withUnderscores(std::string text) {
  std::ranges::replace(text, '-', '_');
  return text;
}

core::Error badLevel(const std::string &name, const std::string &text) {
  std::string levels(runtime::kLevelList);
  for (std::size_t at; (at = levels.find('|')) != std::string::npos;)
    levels.replace(at, 1, ", ");
  return {name + "=" + text + ": unknown level; valid: " + levels};
}

} // namespace

core::Result<std::string> parseTransferLevels(const std::string &name, const std::string &text) {
  constexpr std::array kDirections = {runtime::Guarded::kHostToDevice,
                                      runtime::Guarded::kDeviceToHost,
                                      runtime::Guarded::kDeviceToDevice};
  std::string options;
  for (const std::string &item : splitAtCommas(text)) {
    const std::size_t colon = item.find(':');
    const std::string level = withUnderscores(item.substr(colon + 1));
    if (!runtime::parseLevel(level))
      return tl::unexpected(badLevel(name, item));
    const auto one = runtime::parseGuarded(withUnderscores(item.substr(0, colon)));
    if (colon != std::string::npos && (!one || *one == runtime::Guarded::kHostWait))
      return core::failure(name + "=" + item +
                           ": unknown direction; valid: host_to_device, device_to_host, "
                           "device_to_device");
    for (runtime::Guarded direction : kDirections)
      if (colon == std::string::npos || direction == one)
        options += (options.empty() ? "" : ":") +
                   std::string(runtime::kGuardedNames[static_cast<std::size_t>(direction)]) + "=" +
                   level;
  }
  return options;
}

core::Result<std::string> parseSyncLevel(const std::string &name, const std::string &text) {
  const std::string level = withUnderscores(text);
  if (!runtime::parseLevel(level))
    return tl::unexpected(badLevel(name, text));
  return "host_wait=" + level;
}

core::Result<std::string> parseWarmup(const std::string &name, const std::string &text) {
  if (!parseNumber<std::uint32_t>(text))
    return core::failure(name + "=" + text + ": write a number of steps");
  return "warmup=" + text;
}

core::Result<FailureCriteria> parseFailOn(const std::string &name, const std::string &text) {
  core::Result<core::FailOn> fail_on = core::parseFailOn(name, text);
  if (!fail_on)
    return tl::unexpected(fail_on.error());
  FailureCriteria criteria;
  static_cast<core::FailOn &>(criteria) = std::move(*fail_on);
  return criteria;
}

core::Result<FailureCriteria> parseFailureCriteria(const std::string &fail_on,
                                                   const std::vector<std::string> &budgets) {
  core::Result<FailureCriteria> criteria = parseFailOn("--fail-on", fail_on);
  if (!criteria)
    return criteria;
  for (const std::string &budget : budgets) {
    const std::size_t equals = budget.find('=');
    const std::string rule = budget.substr(0, equals);
    constexpr std::string_view kPerStep = "/step";
    std::string_view number = equals == std::string::npos
                                  ? std::string_view()
                                  : std::string_view(budget).substr(equals + 1);
    const bool per_step = number.ends_with(kPerStep);
    if (per_step)
      number.remove_suffix(kPerStep.size());
    const auto count = parseNumber<std::uint64_t>(number);
    if (!count)
      return core::failure("--max=" + budget +
                           ": write RULE=N or RULE=N/step with N a number from 0");
    if (!core::findRule(rule))
      return core::failure("--max: unknown rule " + core::notARule(rule));
    (per_step ? criteria->step_budgets : criteria->budgets)[rule] = *count;
  }
  return criteria;
}

core::Result<ReportFile> parseReportFile(const std::string &name, const std::string &path) {
  const std::string extension = std::filesystem::path(path).extension();
  std::error_code error;
  if (path == "github")
    return ReportFile{{}, core::ReportFormat::kGithub};
  if (extension == ".txt")
    return ReportFile{std::filesystem::absolute(path, error), core::ReportFormat::kText};
  if (path.ends_with(".perfetto.json"))
    return core::failure(name + "=" + path +
                         ": a trace is no report; --trace=FILE.json writes one");
  if (extension == ".json")
    return ReportFile{std::filesystem::absolute(path, error), core::ReportFormat::kJson};
  if (extension == ".sarif")
    return ReportFile{std::filesystem::absolute(path, error), core::ReportFormat::kSarif};
  if (extension == ".html")
    return ReportFile{std::filesystem::absolute(path, error), core::ReportFormat::kHtml};
  if (path.ends_with(".junit.xml"))
    return ReportFile{std::filesystem::absolute(path, error), core::ReportFormat::kJunit};
  if (extension == ".md")
    return ReportFile{std::filesystem::absolute(path, error), core::ReportFormat::kMarkdown};
  return core::failure(
      name + "=" + path +
      ": the file's name must end in .txt, .json, .sarif, .html, .junit.xml or .md");
}

core::Result<std::filesystem::path> parseTraceFile(const std::string &name,
                                                   const std::string &path) {
  if (!path.ends_with(".json") && !path.ends_with(".json.gz"))
    return core::failure(name + "=" + path + ": the file's name must end in .json or .json.gz");
  std::error_code error;
  return std::filesystem::absolute(path, error);
}

namespace {

struct Setting {
  std::string name;
  std::string text; // empty: not given
};

// The option, or else the variable, where simulated devices can be meant by it.
core::Result<Setting> simulatorSetting(const char *option, const std::string &given,
                                       const char *variable, const RunOptions &options) {
  if (!given.empty()) {
    if (options.simulated_devices == 0)
      return core::failure(std::string(option) + " needs simulated devices: add --sim=N");
    return Setting{option, given};
  }
  const char *value = options.simulated_devices > 0 ? std::getenv(variable) : nullptr;
  return Setting{variable, value ? value : ""};
}

// The runtime reads it, but only once the program has begun and loads LibTorch. Whether it asks for
// the list of keys.
core::Result<bool> judgeEnvironment() {
  const char *text = std::getenv("DEVSAN_OPTIONS");
  runtime::Options options;
  bool help = false;
  if (const auto error = runtime::parseOptions(text ? text : "", options, help))
    return core::failure(*error + " in DEVSAN_OPTIONS\n" + runtime::listOfKeys());
  return help;
}

} // namespace

core::Result<RunOptions> parseRunOptions(const RunArguments &arguments) {
  RunOptions options;
  if (!arguments.sim.empty()) {
    core::Result<int> count = parseSimulatedDevices("--sim", arguments.sim);
    if (!count)
      return tl::unexpected(count.error());
    options.simulated_devices = *count;
  }
  core::Result<Setting> memory =
      simulatorSetting("--sim-memory", arguments.sim_memory, "DEVSAN_SIM_MEMORY", options);
  if (!memory)
    return tl::unexpected(memory.error());
  if (!memory->text.empty()) {
    core::Result<std::string> size = parseDeviceMemory(memory->name, memory->text);
    if (!size)
      return tl::unexpected(size.error());
    options.device_memory = *size;
  }
  if (arguments.sim_force && options.simulated_devices == 0)
    return core::failure("--sim-force needs simulated devices: add --sim=N");
  options.simulate_over_driver = arguments.sim_force;
  core::Result<Setting> protection =
      simulatorSetting("--sim-protect", arguments.sim_protect, "DEVSAN_SIM_PROTECT", options);
  if (!protection)
    return tl::unexpected(protection.error());
  if (!protection->text.empty()) {
    core::Result<bool> on = parseSwitch(protection->name, protection->text);
    if (!on)
      return tl::unexpected(on.error());
    options.protect_devices = *on;
  }
  for (const auto &[name, text, parse] :
       {std::tuple("--transfer", &arguments.transfer, &parseTransferLevels),
        std::tuple("--sync", &arguments.sync, &parseSyncLevel),
        std::tuple("--warmup", &arguments.warmup, &parseWarmup)}) {
    if (text->empty())
      continue;
    core::Result<std::string> item = parse(name, *text);
    if (!item)
      return tl::unexpected(item.error());
    options.runtime_options += (options.runtime_options.empty() ? "" : ":") + *item;
  }
  core::Result<bool> lists_keys = judgeEnvironment();
  if (!lists_keys)
    return tl::unexpected(lists_keys.error());
  options.lists_keys = *lists_keys;
  core::Result<FailureCriteria> failure =
      parseFailureCriteria(arguments.fail_on.value_or(kDefaultFailOn), arguments.budgets);
  if (!failure)
    return tl::unexpected(failure.error());
  options.failure = std::move(*failure);
  core::Result<core::ColorMode> color = core::parseColorMode(arguments.color);
  if (!color)
    return tl::unexpected(color.error());
  options.color = *color;
  for (const std::string &path : arguments.reports) {
    core::Result<ReportFile> report = parseReportFile("--report", path);
    if (!report)
      return tl::unexpected(report.error());
    options.reports.push_back(std::move(*report));
  }
  if (!arguments.trace.empty()) {
    core::Result<std::filesystem::path> path = parseTraceFile("--trace", arguments.trace);
    if (!path)
      return tl::unexpected(path.error());
    for (const ReportFile &report : options.reports)
      if (report.path == *path)
        return core::failure("--trace=" + arguments.trace + " names the file of --report");
    options.trace = std::move(*path);
    options.runtime_options +=
        (options.runtime_options.empty() ? "trace=" : ":trace=") + std::to_string(kTracedEvents);
  }
  return options;
}

} // namespace devsan::command
