#include "command/process/launch.h"
#include "test/support/temporary_folder.h"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace devsan::command {
namespace {

ProgramEnd shell(const std::string &script, const Environment &environment = {}) {
  auto end = launch({"sh", "-c", script}, environment);
  EXPECT_TRUE(end);
  return end.value_or(ProgramEnd{-1, -1});
}

TEST(Launch, ReturnsTheStatus) {
  EXPECT_EQ(shell("exit 0").status, 0);
  EXPECT_EQ(shell("exit 42").status, 42);
}

TEST(Launch, ReturnsTheSignal) {
  EXPECT_EQ(shell("kill -SEGV $$").signal, SIGSEGV);
  EXPECT_EQ(shell("exit 1").signal, 0);
}

TEST(Launch, SetsTheEnvironmentOfTheProgramOnly) {
  EXPECT_EQ(shell("test \"$DEVSAN_LAUNCH_TEST\" = x", {{"DEVSAN_LAUNCH_TEST", "x"}}).status, 0);
  EXPECT_EQ(getenv("DEVSAN_LAUNCH_TEST"), nullptr);
}

TEST(Launch, PassesSignalsOn) {
  EXPECT_EQ(shell("trap 'exit 7' TERM; kill -TERM $PPID; while :; do sleep 0.01; done").status, 7);
}

TEST(Launch, KeepsTheProcessGroup) {
  EXPECT_EQ(shell("test $(ps -o pgid= -p $$) = $(ps -o pgid= -p $PPID)").status, 0);
}

TEST(Launch, NamesACommandThatIsNotThere) {
  auto end = launch({"/no/such/program"}, {});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "cannot execute '/no/such/program': command not found");
}

TEST(Launch, NamesAnInterpreterThatIsNotThere) {
  const test::TemporaryFolder folder;
  const std::string script = folder.path() / "script";
  std::ofstream(script) << "#! /no/such/python -u\n";
  chmod(script.c_str(), 0755);
  auto end = launch({script}, {});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message,
            "cannot execute '" + script +
                "': its interpreter /no/such/python, named in its first line, is missing");
}

TEST(Launch, SaysWhyAFileDoesNotExecute) {
  auto end = launch({"/"}, {});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "cannot execute '/': Permission denied");
}

TEST(EndBySignal, DiesOfTheSignal) {
  EXPECT_EXIT(endBySignal(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

} // namespace
} // namespace devsan::command
