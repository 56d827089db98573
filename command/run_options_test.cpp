#include "command/run_options.h"
#include "core/finding/rule_table.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace devsan::command {
namespace {

core::Finding finding(const char *rule, core::Severity severity, std::uint64_t count = 1) {
  core::Finding result;
  result.rule = rule;
  result.severity = severity;
  result.count = count;
  return result;
}

TEST(SimulatedDevices, AcceptsOneToSixtyFour) {
  EXPECT_EQ(parseSimulatedDevices("--sim", "1").value(), 1);
  EXPECT_EQ(parseSimulatedDevices("--sim", "64").value(), 64);
}

TEST(SimulatedDevices, RejectsEverythingElse) {
  for (const char *text : {"0", "-1", "65", "two", "2x", " 2", "99999999999", "1.5"})
    EXPECT_FALSE(parseSimulatedDevices("--sim", text)) << text;
}

TEST(DeviceMemory, AcceptsSizesWithAndWithoutUnit) {
  for (const char *text : {"2GiB", "512MiB", "1.5GB", "2 GiB", "4194304", "16TiB", "2M"})
    EXPECT_TRUE(parseDeviceMemory("--sim-memory", text)) << text;
}

TEST(DeviceMemory, RejectsWhatNoDeviceCanHave) {
  for (const char *text : {"0", "-1GiB", "1MiB", "17TiB", "lots", "2Gib", "2GiB!", " 2GiB", "nan",
                           "inf", "1e9", "0x800000"}) {
    auto size = parseDeviceMemory("--sim-memory", text);
    ASSERT_FALSE(size) << text;
    EXPECT_NE(size.error().message.find(std::string("--sim-memory=") + text), std::string::npos);
    EXPECT_NE(size.error().message.find("such as 2GiB"), std::string::npos);
  }
}

TEST(Force, IsOffByDefaultAndNeedsSimulatedDevices) {
  RunArguments arguments;
  arguments.sim = "2";
  EXPECT_FALSE(parseRunOptions(arguments)->simulate_over_driver);
  arguments.sim_force = true;
  EXPECT_TRUE(parseRunOptions(arguments)->simulate_over_driver);
  arguments.sim.clear();
  auto options = parseRunOptions(arguments);
  ASSERT_FALSE(options);
  EXPECT_NE(options.error().message.find("--sim-force"), std::string::npos);
}

TEST(Protection, IsOnByDefaultAndNeedsSimulatedDevices) {
  RunArguments arguments;
  arguments.sim = "2";
  EXPECT_TRUE(parseRunOptions(arguments).value().protect_devices);
  arguments.sim_protect = "off";
  EXPECT_FALSE(parseRunOptions(arguments).value().protect_devices);
  arguments.sim_protect = "no";
  EXPECT_FALSE(parseRunOptions(arguments));
  arguments = {};
  arguments.sim_memory = "2GiB";
  EXPECT_FALSE(parseRunOptions(arguments));
}

using Sentences = std::multimap<std::string, std::string>;

TEST(FailureCriteria, DefaultFailsOnErrorsOnly) {
  const FailureCriteria criteria = parseFailureCriteria("error", {}).value();
  const core::Finding warning = finding("device-host-sync", core::Severity::kWarning);
  const core::Finding error = finding("device-mismatch", core::Severity::kError);
  EXPECT_FALSE(criteria.failed({&warning, 1}));
  EXPECT_TRUE(criteria.failed({&error, 1}));
}

TEST(FailureCriteria, NamesRules) {
  const FailureCriteria criteria =
      parseFailureCriteria("device-host-sync,device-implicit-transfer", {}).value();
  const core::Finding sync = finding("device-host-sync", core::Severity::kWarning);
  const core::Finding note = finding("device-host-sync", core::Severity::kNote);
  const core::Finding error = finding("device-mismatch", core::Severity::kError);
  EXPECT_TRUE(criteria.failed({&sync, 1}));
  EXPECT_FALSE(criteria.failed({&note, 1}));
  EXPECT_FALSE(criteria.failed({&error, 1}));
}

TEST(FailureCriteria, NoneNeverFails) {
  const core::Finding error = finding("device-mismatch", core::Severity::kError);
  EXPECT_FALSE(parseFailureCriteria("none", {}).value().failed({&error, 1}));
}

TEST(FailureCriteria, ListsWhatIsValid) {
  for (const char *text : {"", "warnings", "device-host-sync,", "none,error", "device-nothing"}) {
    auto criteria = parseFailureCriteria(text, {});
    ASSERT_FALSE(criteria) << text;
    EXPECT_NE(criteria.error().message.find("note, warning, error, none, "), std::string::npos);
    for (const core::Rule &rule : core::allRules())
      EXPECT_NE(criteria.error().message.find(", " + std::string(rule.id)), std::string::npos)
          << rule.id << " is missing in: " << criteria.error().message;
  }
}

TEST(FailureCriteria, BudgetReplacesSeverity) {
  const FailureCriteria criteria = parseFailureCriteria("warning", {"device-host-sync=10"}).value();
  const core::Finding within = finding("device-host-sync", core::Severity::kWarning, 10);
  const core::Finding beyond = finding("device-host-sync", core::Severity::kNote, 11);
  EXPECT_FALSE(criteria.failed({&within, 1}));
  EXPECT_TRUE(criteria.failed({&beyond, 1}));
  EXPECT_EQ(criteria.exceededBudgets({&beyond, 1}).size(), 1u);
}

TEST(FailureCriteria, SaysWhatFails) {
  using Reasons = std::vector<std::string>;
  const std::vector findings = {finding("device-mismatch", core::Severity::kError),
                                finding("device-host-sync", core::Severity::kWarning, 11),
                                finding("device-implicit-transfer", core::Severity::kWarning),
                                finding("device-implicit-transfer", core::Severity::kWarning),
                                finding("device-host-sync", core::Severity::kNote)};
  const auto reasons = [&](const char *fail_on, const std::vector<std::string> &budgets) {
    return parseFailureCriteria(fail_on, budgets).value().reasons(findings);
  };
  EXPECT_EQ(reasons("none", {}), Reasons());
  EXPECT_EQ(reasons("error", {}), Reasons({"1 error"}));
  EXPECT_EQ(reasons("note", {}), Reasons({"1 error", "3 warnings", "1 note"}));
  EXPECT_EQ(reasons("error,device-implicit-transfer", {}),
            Reasons({"1 error", "2 device-implicit-transfer"}));
  EXPECT_EQ(reasons("warning", {"device-host-sync=5", "device-host-sync=5/step"}),
            Reasons({"1 error", "2 warnings", "device-host-sync over its budget"}));
}

TEST(FailureCriteria, NoBudgetAllowsWhatTheProgramForbids) {
  const core::Finding forbidden = finding("device-host-sync", core::Severity::kError, 1);
  for (const char *budget : {"device-host-sync=10", "device-host-sync=10/step"})
    EXPECT_TRUE(parseFailureCriteria("error", {budget}).value().failed({&forbidden, 1})) << budget;
  const core::Finding grave = finding("device-mismatch", core::Severity::kError, 1);
  EXPECT_FALSE(parseFailureCriteria("error", {"device-mismatch=1"}).value().failed({&grave, 1}));
}

core::Finding inSteps(std::uint64_t first, std::uint64_t last, std::uint64_t most) {
  core::Finding result = finding("device-host-sync", core::Severity::kWarning, 100);
  result.steps = {100, last - first + 1, first, last, most};
  return result;
}

TEST(FailureCriteria, ABudgetForEachStepCountsWhatComesTogether) {
  const FailureCriteria criteria =
      parseFailureCriteria("warning", {"device-host-sync=2/step"}).value();
  const std::vector<core::Finding> apart = {inSteps(0, 0, 2), inSteps(1, 99, 2)};
  EXPECT_FALSE(criteria.failed(apart));
  const std::vector<core::Finding> together = {inSteps(0, 99, 2), inSteps(7, 7, 1)};
  EXPECT_TRUE(criteria.failed(together));
  EXPECT_EQ(criteria.exceededBudgets(together),
            Sentences({{"device-host-sync", "over budget: device-host-sync happened up to 3 times "
                                            "in one step, the budget is 2/step"}}));
  const std::vector<core::Finding> without = {
      finding("device-host-sync", core::Severity::kNote, 3)};
  EXPECT_EQ(criteria.exceededBudgets(without),
            Sentences({{"device-host-sync",
                        "over budget: device-host-sync happened 3 times in a run "
                        "without steps (see devsan::step()), the budget is 2/step"}}));
}

TEST(FailureCriteria, StepsOfSeveralProcessesComeToNoSum) {
  const FailureCriteria criteria =
      parseFailureCriteria("error", {"device-host-sync=2/step"}).value();
  const auto seenBy = [](std::vector<core::StepLoad> loads) {
    core::Finding result = inSteps(0, 9, 2);
    result.loads = std::move(loads);
    return result;
  };
  // Two places, in the same steps of different processes.
  EXPECT_FALSE(criteria.failed(std::vector{seenBy({{1, 0, 9, 2}}), seenBy({{2, 0, 9, 2}})}));
  // One of them in both processes.
  EXPECT_TRUE(
      criteria.failed(std::vector{seenBy({{1, 0, 9, 2}, {2, 3, 3, 1}}), seenBy({{2, 0, 9, 2}})}));
  // The same without steps: eight ranks that wait twice each.
  core::Finding ranks = finding("device-host-sync", core::Severity::kWarning, 16);
  for (std::uint64_t process = 1; process <= 8; ++process)
    ranks.loads.push_back({process, 0, 0, 2});
  EXPECT_FALSE(criteria.failed({&ranks, 1}));
}

TEST(FailureCriteria, ARunOfOneStepHasSteps) {
  core::Finding one = finding("device-host-sync", core::Severity::kNote, 6);
  one.steps = {1, 1, 0, 1, 3};
  EXPECT_EQ(
      parseFailureCriteria("error", {"device-host-sync=2/step"}).value().exceededBudgets({&one, 1}),
      Sentences({{"device-host-sync", "over budget: device-host-sync happened up to 3 times in one "
                                      "step, the budget is 2/step"}}));
}

TEST(RuntimeOptions, LevelsAreHandedOn) {
  EXPECT_EQ(parseTransferLevels("--transfer", "host-to-device:disallow,device_to_host:log-explicit")
                .value(),
            "host_to_device=disallow:device_to_host=log_explicit");
  EXPECT_EQ(parseTransferLevels("--transfer", "allow").value(),
            "host_to_device=allow:device_to_host=allow:device_to_device=allow");
  EXPECT_EQ(parseSyncLevel("--sync", "disallow").value(), "host_wait=disallow");
  EXPECT_EQ(parseWarmup("--warmup", "10").value(), "warmup=10");
  for (const char *text : {"", "never", "host_to_device", "host_wait:log", "to_device:log",
                           "host_to_device:", ":log", "log,"})
    EXPECT_FALSE(parseTransferLevels("--transfer", text)) << text;
  EXPECT_NE(parseSyncLevel("--sync", "never").error().message.find("allow, log, disallow, "),
            std::string::npos);
  EXPECT_FALSE(parseWarmup("--warmup", "-1"));
}

TEST(FailureCriteria, KnowsWhenNotesCount) {
  core::Finding note;
  note.rule = "device-host-sync";
  note.severity = core::Severity::kNote;
  note.count = 1;
  const std::vector findings{note};
  const auto counts = [&](const char *fail_on, const std::vector<std::string> &budgets) {
    return parseFailureCriteria(fail_on, budgets).value().countsNotes(findings);
  };
  EXPECT_TRUE(counts("note", {}));
  EXPECT_FALSE(counts("warning", {}));
  EXPECT_FALSE(counts("error", {"device-host-sync=1"}));
  EXPECT_TRUE(counts("error", {"device-host-sync=0"}));
  EXPECT_TRUE(counts("error", {"device-host-sync=0/step"}));
  EXPECT_EQ(parseFailureCriteria("error", {"device-host-sync=0"}).value().exceededBudgets(findings),
            Sentences({{"device-host-sync",
                        "over budget: device-host-sync happened once, the budget is 0"}}));
}

TEST(RuntimeOptions, AWrongEnvironmentIsFoundBeforeTheStart) {
  setenv("DEVSAN_OPTIONS", "warmup=3:origin=all", 1);
  const core::Result<RunOptions> wrong = parseRunOptions({});
  setenv("DEVSAN_OPTIONS", "warmup=3:origins=all", 1);
  const core::Result<RunOptions> good = parseRunOptions({});
  unsetenv("DEVSAN_OPTIONS");
  EXPECT_TRUE(good);
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().message.starts_with("unknown key 'origin' in DEVSAN_OPTIONS\n"));
  EXPECT_NE(wrong.error().message.find("\n  origins "), std::string::npos);
}

TEST(FailureCriteria, RejectsMalformedBudgets) {
  for (const char *text :
       {"device-host-sync", "device-host-sync=", "device-host-sync=-1", "device-host-sync=1/",
        "device-host-sync=/step", "device-host-sync=1/steps", "=1", "nothing=1", "nothing=1/step"})
    EXPECT_FALSE(parseFailureCriteria("error", {text})) << text;
}

TEST(ReportFile, FormatFollowsTheName) {
  EXPECT_EQ(parseReportFile("--report", "a.txt").value().format, core::ReportFormat::kText);
  EXPECT_EQ(parseReportFile("--report", "d/a.json").value().format, core::ReportFormat::kJson);
  EXPECT_EQ(parseReportFile("--report", "a.sarif").value().format, core::ReportFormat::kSarif);
  EXPECT_EQ(parseReportFile("--report", "a.html").value().format, core::ReportFormat::kHtml);
  EXPECT_EQ(parseReportFile("--report", "a.junit.xml").value().format, core::ReportFormat::kJunit);
  EXPECT_EQ(parseReportFile("--report", "a.md").value().format, core::ReportFormat::kMarkdown);
  EXPECT_TRUE(parseReportFile("--report", "github").value().path.empty());
  auto report = parseReportFile("--report", "a.perfetto.json");
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("--trace=FILE.json"), std::string::npos);
  EXPECT_FALSE(parseReportFile("--report", "a"));
  EXPECT_FALSE(parseReportFile("--report", "a.xml"));
}

TEST(RunOptions, ATraceMakesTheRuntimeWriteSingleEvents) {
  RunArguments arguments;
  arguments.warmup = "3";
  arguments.trace = "out/a.json.gz";
  const auto options = parseRunOptions(arguments);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_TRUE(options->trace.is_absolute());
  EXPECT_EQ(options->runtime_options, "warmup=3:trace=262144");
  for (const char *name : {"a", "a.gz", "a.html", "a.json.zip"}) {
    arguments.trace = name;
    EXPECT_FALSE(parseRunOptions(arguments)) << name;
  }
}

} // namespace
} // namespace devsan::command
