// The shim with stand-ins for LibTorch and for the libraries that it loads: only names and order
// matter here.
#include "test/support/temporary_folder.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>

namespace {

struct Result {
  std::string output; // stdout and stderr
  int status;
};

Result run(const std::string &command, const std::string &libraries) {
  std::string line = "env LD_PRELOAD=" DEVSAN_PRELOAD_LIBRARY " DEVSAN_LIBS=" + libraries + " " +
                     command + " 2>&1";
  Result result;
  std::FILE *pipe = popen(line.c_str(), "r");
  if (!pipe)
    return {"popen failed", -1};
  char buffer[4096];
  while (std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    result.output.append(buffer, count);
  int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.output = std::regex_replace(result.output, std::regex("process [0-9]+"), "process N");
  return result;
}

const std::string kBoth = DEVSAN_FIRST ":" DEVSAN_SECOND;

TEST(Preload, LoadsBeforeMainInALinkedProgram) {
  Result result = run(DEVSAN_LINKED_PROBE, kBoth);
  EXPECT_EQ(result.output, "loaded torch\nloaded first\nloaded second\nmain\n");
  EXPECT_EQ(result.status, 0);
}

TEST(Preload, LoadsOnceAfterDlopen) {
  Result result =
      run(DEVSAN_PROBE " open=libm.so.6 open=" DEVSAN_TORCH " open=" DEVSAN_TORCH, kBoth);
  EXPECT_EQ(result.output,
            "main\nopened\nloaded torch\nloaded first\nloaded second\nopened\nopened\n");
}

TEST(Preload, WaitsForTheOutermostDlopen) {
  // The opener's constructor calls dlopen while the loading of LibTorch is not over.
  Result result = run(DEVSAN_PROBE " open=" DEVSAN_OPENER, kBoth);
  EXPECT_EQ(result.output, "main\nloaded torch\nloaded first\nloaded second\nopened\n");
}

TEST(Preload, LeavesOtherProgramsAlone) {
  Result result = run(DEVSAN_PROBE " open=libm.so.6 fork", "/nowhere/libmissing.so");
  EXPECT_EQ(result.output, "main\nopened\n");
  EXPECT_EQ(result.status, 0);
}

TEST(Preload, NamesALibraryThatCannotBeLoaded) {
  Result result = run(DEVSAN_LINKED_PROBE, DEVSAN_FIRST ":/nowhere/libmissing.so");
  EXPECT_EQ(result.output,
            "loaded torch\nloaded first\ndevsan: process N runs on unobserved: cannot load "
            "/nowhere/libmissing.so: /nowhere/libmissing.so: cannot open shared object file: No "
            "such file or directory\nmain\n");
  EXPECT_EQ(result.status, 0);
}

TEST(Preload, SimulatesNoDevicesWithoutASimulator) {
  const std::string devices = " devices=" DEVSAN_STANDIN_CUDA;
  setenv("DEVSAN_SIM_DEVICES", "2", 1);
  EXPECT_EQ(run(DEVSAN_LINKED_PROBE + devices, kBoth).output,
            "loaded torch\nloaded first\nloaded second\nmain\n2 devices\n");
  const Result result = run(DEVSAN_LINKED_PROBE + devices, "/nowhere/libmissing.so");
  unsetenv("DEVSAN_SIM_DEVICES");
  EXPECT_TRUE(result.output.ends_with("\nmain\n0 devices\n")) << result.output;
}

TEST(Preload, KeepsTheCallersRunpath) {
  Result result = run(DEVSAN_PROBE " runpath=" DEVSAN_OPENER, "''");
  EXPECT_EQ(result.output, "main\nloaded torch\nloaded on runpath\nfound on runpath\n");
}

TEST(Preload, KeepsErrorsAsTheyWere) {
  Result result = run(DEVSAN_PROBE " missing=libdevsan_on_runpath.so", kBoth);
  EXPECT_EQ(
      result.output,
      "main\nlibdevsan_on_runpath.so: cannot open shared object file: No such file or directory\n");
}

TEST(Preload, ReachesProgramsThatAreExecuted) {
  Result result = run(DEVSAN_LINKED_PROBE " exec", DEVSAN_FIRST);
  EXPECT_EQ(result.output, "loaded torch\nloaded first\nmain\nloaded torch\nloaded first\nmain\n");
}

// A program that answers in the place of `devsan prepare`.
class Builder {
public:
  explicit Builder(const std::string &script) {
    std::ofstream(path()) << "#!/bin/sh\n" << script;
    chmod(path().c_str(), 0755);
  }
  std::string path() const { return directory_ + "/builder"; }
  std::string started() const { return directory_ + "/started"; }
  std::string environment(const std::string &id) const {
    return "DEVSAN_TORCH_ID=" + id + " DEVSAN_BUILDER=" + path() + " PROBE_STARTED=" + started() +
           " ";
  }

private:
  devsan::test::TemporaryFolder folder_;
  std::string directory_ = folder_.path();
};

TEST(Preload, AsksTheBuilderForAnotherLibTorch) {
  Builder builder("echo asked: $1 $2 $4 preload=$LD_PRELOAD >&2; echo " DEVSAN_SECOND "\n");
  Result result = run(builder.environment("0123") + DEVSAN_LINKED_PROBE, DEVSAN_FIRST);
  EXPECT_EQ(result.output, "loaded torch\nasked: prepare --torch=" DEVSAN_TORCH
                           " -- preload=\nloaded second\nmain\n");
  EXPECT_EQ(result.status, 0);
}

TEST(Preload, RunsOnWhereTheBuilderFails) {
  Builder builder("echo no compiler >&2; exit 2\n");
  Result result = run(builder.environment("0123") + DEVSAN_LINKED_PROBE, DEVSAN_FIRST);
  EXPECT_EQ(result.output, "loaded torch\nno compiler\ndevsan: process N runs on unobserved: " +
                               builder.path() + " prepare ended with status 2\nmain\n");
  EXPECT_EQ(result.status, 0);
}

TEST(Preload, SaysThatABuilderWasKilled) {
  Builder builder("kill -KILL $$\n");
  Result result =
      run(builder.environment("0123") + DEVSAN_PROBE " buffered open=" DEVSAN_TORCH, kBoth);
  EXPECT_EQ(result.output,
            "main\nloaded torch\ndevsan: process N runs on unobserved: " + builder.path() +
                " prepare was ended by signal 9 (Killed)\nbuffered\nopened\n");
  EXPECT_EQ(result.status, 0);
}

TEST(Preload, SaysThatABuilderNamedNothing) {
  Builder builder("exit 0\n");
  Result result = run(builder.environment("0123") + DEVSAN_LINKED_PROBE, DEVSAN_FIRST);
  EXPECT_EQ(result.output, "loaded torch\ndevsan: process N runs on unobserved: " + builder.path() +
                               " prepare named no libraries\nmain\n");
  EXPECT_EQ(result.status, 0);
}

TEST(Preload, LetsNoOtherThreadGoOnBeforeTheLoadingIsOver) {
  Builder builder("touch $PROBE_STARTED; sleep 0.3; echo " DEVSAN_FIRST ":" DEVSAN_SECOND "\n");
  Result result = run(builder.environment("0123") + DEVSAN_PROBE " race=" DEVSAN_TORCH, kBoth);
  EXPECT_EQ(result.output, "main\nloaded torch\nloaded first\nloaded second\nopened\n");
}

TEST(Preload, NamesASecondLibTorch) {
  namespace fs = std::filesystem;
  const devsan::test::TemporaryFolder folder;
  const std::string second = folder.path() / "libtorch_cpu.so";
  fs::copy_file(DEVSAN_TORCH, second);
  Result result = run(DEVSAN_LINKED_PROBE " open=" + second + " open=libm.so.6", DEVSAN_FIRST);
  EXPECT_EQ(result.output,
            "loaded torch\nloaded first\nmain\nloaded torch\ndevsan: two LibTorchs in "
            "one process: " DEVSAN_TORCH " is observed, " +
                second +
                " is not; operators that they both register may fail\nopened\n"
                "opened\n");
}

} // namespace
