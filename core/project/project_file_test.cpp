#include "core/project/project_file.h"

#include <gmock/gmock.h>

namespace devsan::core {
namespace {

using testing::HasSubstr;

constexpr const char *kFile = "/project/.devsan.toml";

TEST(ProjectFile, HoldsSettingsAndBudgets) {
  const auto file = parseProjectFile(R"([run]
fail-on = ["warning", "device-mismatch"]
baseline = "ci/baseline.json"
report = "devsan.json"
sim = 2
[check]
checks = ["device-*", "-device-host-sync"]
baseline = "check.json"
exclude = ["third_party", "gen/{a,b}.cpp"]
extra-flags = ["-DA", "-DB=1,2"]
strict = true
timeout = 60
[budgets]
device-host-sync = 3
device-implicit-transfer = "1/step"
[suppressions]
device-host-sync = "*"
)",
                                     kFile);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->run.find("fail-on")->text, "warning,device-mismatch");
  EXPECT_EQ(file->run.find("fail-on")->where, "/project/.devsan.toml:2");
  EXPECT_EQ(file->run.find("baseline")->text, "/project/ci/baseline.json");
  EXPECT_EQ(file->run.find("sim")->text, "2");
  EXPECT_EQ(file->run.find("sim-memory"), nullptr);
  EXPECT_EQ(file->reports.at(0).text, "/project/devsan.json");
  EXPECT_EQ(file->check.find("checks")->text, "device-*,-device-host-sync");
  EXPECT_EQ(file->check.find("baseline")->text, "/project/check.json");
  EXPECT_EQ(file->check.find("strict")->text, "true");
  EXPECT_EQ(file->check.find("timeout")->text, "60");
  EXPECT_EQ(file->exclude.at(1).text, "gen/{a,b}.cpp");
  EXPECT_EQ(file->extra_flags.at(1).text, "-DB=1,2");
  EXPECT_EQ(file->budgets.at(0).text, "device-host-sync=3");
  EXPECT_EQ(file->budgets.at(1).text, "device-implicit-transfer=1/step");
}

struct Bad {
  const char *text;
  const char *message;
};

class BadProjectFile : public testing::TestWithParam<Bad> {};

TEST_P(BadProjectFile, IsNamedWithLineAndValidForms) {
  const auto file = parseProjectFile(GetParam().text, kFile);
  ASSERT_FALSE(file) << GetParam().text;
  EXPECT_THAT(file.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Tables, BadProjectFile,
    testing::Values(
        Bad{"\n[runs]",
            "/project/.devsan.toml:2: unknown key 'runs' (did you mean 'run'?); valid are the "
            "tables [budgets], [check], [run], [suppressions]"},
        Bad{"run = 1", "/project/.devsan.toml:1: 'run' must be a table"},
        Bad{"[run]\nfailon = 1", ":2: unknown key 'failon' (did you mean 'fail-on'?); valid in "
                                 "[run]: baseline, fail-on, own, report, sim, sim-memory, "
                                 "sim-protect"},
        Bad{"[run]\nsim = \"2\"", ":2: 'sim' must be a number"},
        Bad{"[run]\nsim = 2.5", ":2: 'sim' must be a number"},
        Bad{"[run]\nfail-on = []", ":2: 'fail-on' must be a string, or a list of strings"},
        Bad{"[run]\nfail-on = [1]", ":2: 'fail-on' must be a string, or a list of strings"},
        Bad{"[run]\nbaseline = [\"a\"]", ":2: 'baseline' must be the path of a file"},
        Bad{"[run]\nbaseline = \"\"", ":2: 'baseline' must be the path of a file"},
        Bad{"[run]\nreport = true",
            ":2: 'report' must be the path of a file, as a string, or a list"},
        Bad{"[run]\nreport = [\"a.json\", \"../b.json\"]",
            ":2: 'report' must stay below /project, the folder of the project file, and /b.json "
            "does "
            "not; name a file there, or say --report=FILE on the command line"},
        Bad{"[run]\nbaseline = \"/b.json\"", ":2: 'baseline' must stay below /project"},
        Bad{"[check]\nbaseline = \"/projects/b.json\"", ":2: 'baseline' must stay below /project,"},
        Bad{"[check]\nsim = 1", ":2: unknown key 'sim'; valid in [check]: baseline, checks, "},
        Bad{"[check]\nexclude = 1", ":2: 'exclude' must be a string, or a list of strings"},
        Bad{"[check]\nstrict = 1", ":2: 'strict' must be true or false"},
        Bad{"[budgets]\ndevice-typo = 1", ":2: unknown rule 'device-typo'; valid: device-"},
        Bad{"[budgets]\ndevice-host-sync = 1.5",
            ":2: 'device-host-sync' must be a number, or a string such as \"1/step\""},
        Bad{"[run", "/project/.devsan.toml:1: "}, Bad{"\n\nsim = ", "/project/.devsan.toml:3: "}));

} // namespace
} // namespace devsan::core
