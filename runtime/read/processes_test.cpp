#include "runtime/read/processes.h"

#include <gmock/gmock.h>

namespace devsan::runtime {
namespace {

using ::testing::ElementsAre;

FileHeader process(std::uint32_t pid, std::uint32_t parent, int rank, std::uint64_t start) {
  FileHeader header;
  header.pid = pid;
  header.parent_pid = parent;
  header.rank = rank;
  header.start_time_ns = start;
  return header;
}

TEST(Processes, OneAlone) {
  EXPECT_THAT(rolesOf(std::vector{process(10, 1, -1, 1)}), ElementsAre(ProcessRole{}));
}

TEST(Processes, LaunchedRanksAreNoWorkers) {
  EXPECT_THAT(
      rolesOf(std::vector{process(10, 1, -1, 1), process(11, 10, 0, 2), process(12, 10, 1, 3)}),
      ElementsAre(ProcessRole{}, ProcessRole{0, false}, ProcessRole{1, false}));
}

TEST(Processes, ARankThatAnotherRankLaunchesIsNoWorker) {
  EXPECT_THAT(
      rolesOf(std::vector{process(10, 1, 0, 1), process(11, 10, 1, 2), process(12, 11, 1, 3)}),
      ElementsAre(ProcessRole{0, false}, ProcessRole{1, false}, ProcessRole{1, true}));
}

TEST(Processes, WorkersInheritTheirRank) {
  EXPECT_THAT(rolesOf(std::vector{process(13, 11, 0, 4), process(11, 10, 0, 2),
                                  process(14, 12, -1, 5), process(12, 10, 1, 3)}),
              ElementsAre(ProcessRole{0, true}, ProcessRole{0, false}, ProcessRole{1, true},
                          ProcessRole{1, false}));
}

TEST(Processes, ARanksGrandchildBehindAShellIsAWorker) {
  EXPECT_THAT(rolesOf(std::vector{process(11, 1, 3, 1), process(20, 15, 3, 2)}),
              ElementsAre(ProcessRole{3, false}, ProcessRole{3, true}));
}

TEST(Processes, ForksOfAProgramWithoutRanks) {
  EXPECT_THAT(rolesOf(std::vector{process(10, 1, -1, 1), process(11, 10, -1, 2)}),
              ElementsAre(ProcessRole{}, ProcessRole{std::nullopt, true}));
}

TEST(Processes, ARankThatWasStartedAnewHasTheSameNumber) {
  // A process number that comes again names the later process.
  EXPECT_THAT(rolesOf(std::vector{process(10, 1, 0, 1), process(11, 10, 0, 2), process(10, 1, 1, 3),
                                  process(12, 10, 1, 4)}),
              ElementsAre(ProcessRole{0, false}, ProcessRole{0, true}, ProcessRole{1, false},
                          ProcessRole{1, true}));
}

} // namespace
} // namespace devsan::runtime
