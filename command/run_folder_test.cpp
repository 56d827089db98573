#include "command/run_folder.h"
#include "test/support/temporary_folder.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace devsan::command {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public testing::Test {
protected:
  test::TemporaryFolder temporary_;
  const fs::path &folder_ = temporary_.path();
};

TEST_F(RunFolderTest, ATemporaryOneGoesAway) {
  fs::path path;
  {
    const core::Result<RunFolder> folder = RunFolder::make({});
    ASSERT_TRUE(folder);
    path = folder->path();
    EXPECT_TRUE(fs::is_directory(path));
    EXPECT_TRUE(folder->write({}));
    EXPECT_TRUE(fs::is_empty(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RunFolderTest, TellsOfTheRunsInsideIt) {
  const core::Result<RunFolder> folder = RunFolder::make({});
  ASSERT_TRUE(folder);
  EXPECT_EQ(innerRuns(folder->path()), 0u);
  noteInnerRun(folder->path());
  EXPECT_EQ(innerRuns(folder->path()), 1u);
  noteInnerRun(folder_ / "gone");
}

TEST_F(RunFolderTest, AKeptOneTellsWhatRan) {
  fs::path path;
  {
    const core::Result<RunFolder> folder = RunFolder::make(folder_ / "logs");
    ASSERT_TRUE(folder);
    path = folder->path();
    ASSERT_TRUE(folder->write({"./train --epochs 1", "/project", 7, true}));
  }
  const core::Result<RunFacts> facts = readRunFacts(path);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->command, "./train --epochs 1");
  EXPECT_EQ(facts->working_directory, "/project");
  EXPECT_EQ(facts->wall_ns, 7u);
  EXPECT_TRUE(facts->ended_early);
}

TEST_F(RunFolderTest, FactsThatAreDamagedAreNamed) {
  EXPECT_EQ(readRunFacts(folder_)->command, folder_.string());
  for (const char *text : {"", "{", "[]", "{\"schema\": \"devsan-run/2\"}",
                           "{\"schema\": \"devsan-run/1\", \"command\": 3}"}) {
    std::ofstream(folder_ / "run.json") << text;
    const core::Result<RunFacts> facts = readRunFacts(folder_);
    ASSERT_FALSE(facts) << text;
    EXPECT_NE(facts.error().message.find("run.json"), std::string::npos);
    EXPECT_NE(facts.error().message.find("devsan-run/1"), std::string::npos);
  }
}

TEST_F(RunFolderTest, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(folder_ / "file") << "";
  const core::Result<RunFolder> folder = RunFolder::make(folder_ / "file");
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("--keep-logs="), std::string::npos);
}

} // namespace
} // namespace devsan::command
