#include "core/command/run_options.h"
#include "core/rule_table.h"
#include "runtime/sim/memory/memory_size.h"

#include <charconv>
#include <cstdlib>

namespace devsan::command {
namespace {

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

} // namespace

bool FailureCriteria::failed(std::span<const core::Finding> findings) const {
  for (const core::Finding &finding : findings) {
    if (finding.known || budgets.contains(finding.rule))
      continue;
    // A rule's name does not mean its notes: a single read that the program spells out is no bug.
    if ((severity && finding.severity >= *severity) ||
        (rules.contains(finding.rule) && finding.severity > core::Severity::kNote))
      return true;
  }
  return !exceededBudgets(findings).empty();
}

std::vector<std::string>
FailureCriteria::exceededBudgets(std::span<const core::Finding> findings) const {
  std::vector<std::string> sentences;
  for (const auto &[rule, count] : occurrences(findings)) {
    auto budget = budgets.find(rule);
    if (budget != budgets.end() && count > budget->second)
      sentences.push_back("over budget: " + rule + " happened " + std::to_string(count) +
                          " times, --max allows " + std::to_string(budget->second));
  }
  return sentences;
}

core::Result<int> parseSimulatedDevices(const std::string &text) {
  std::optional<int> count = parseNumber<int>(text);
  if (!count || *count < 1 || *count > 64)
    return core::failure("--sim=" + text +
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

core::Result<FailureCriteria> parseFailureCriteria(const std::string &fail_on,
                                                   const std::vector<std::string> &budgets) {
  FailureCriteria criteria;
  for (const std::string &item : splitAtCommas(fail_on)) {
    if (std::optional<core::Severity> severity = core::parseSeverity(item))
      criteria.severity = std::min(criteria.severity.value_or(*severity), *severity);
    else if (core::findRule(item))
      criteria.rules.insert(item);
    else if (item != "none" || fail_on != "none")
      return core::failure("--fail-on: unknown rule or severity '" + item +
                           "'; valid: note, warning, error, none, " + core::ruleIds());
  }
  for (const std::string &budget : budgets) {
    const std::size_t equals = budget.find('=');
    const std::string rule = budget.substr(0, equals);
    const auto count =
        equals == std::string::npos
            ? std::nullopt
            : parseNumber<std::uint64_t>(std::string_view(budget).substr(equals + 1));
    if (!count)
      return core::failure("--max=" + budget + ": write RULE=N with N a number from 0");
    if (!core::findRule(rule))
      return core::failure("--max: unknown rule '" + rule + "'; valid: " + core::ruleIds());
    criteria.budgets[rule] = *count;
  }
  return criteria;
}

core::Result<ReportFile> parseReportFile(const std::string &path) {
  const std::string extension = std::filesystem::path(path).extension();
  std::error_code error;
  if (extension == ".txt")
    return ReportFile{std::filesystem::absolute(path, error), ReportFormat::kText};
  if (extension == ".json" && !path.ends_with(".perfetto.json"))
    return ReportFile{std::filesystem::absolute(path, error), ReportFormat::kJson};
  if (extension == ".sarif" || extension == ".html" || extension == ".json")
    return core::failure("--report=" + path +
                         ": this format is not supported yet; supported: .txt, .json");
  return core::failure("--report=" + path + ": the file's name must end in .txt or .json");
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

} // namespace

core::Result<RunOptions> parseRunOptions(const RunArguments &arguments) {
  RunOptions options;
  if (!arguments.sim.empty()) {
    core::Result<int> count = parseSimulatedDevices(arguments.sim);
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
  core::Result<FailureCriteria> failure =
      parseFailureCriteria(arguments.fail_on.value_or(kDefaultFailOn), arguments.budgets);
  if (!failure)
    return tl::unexpected(failure.error());
  options.failure = std::move(*failure);
  for (const std::string &path : arguments.reports) {
    core::Result<ReportFile> report = parseReportFile(path);
    if (!report)
      return tl::unexpected(report.error());
    options.reports.push_back(std::move(*report));
  }
  return options;
}

} // namespace devsan::command
