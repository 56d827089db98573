#include "runtime/analysis/analysis.h"
#include "runtime/read/testing/log_builder.h"
#include "test/support/temporary_folder.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

using namespace testing;
namespace fs = std::filesystem;

class AnalysisTest : public ::testing::Test {
protected:
  void write(const std::string &name, const std::vector<std::byte> &bytes) {
    std::ofstream(directory_ / name, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!bytes.empty()) // as its writer makes it
      fs::resize_file(directory_ / name, kSegmentSize);
  }

  Analysis analysed(const char *symbolizer = DEVSAN_SYMBOLIZER) const {
    return analyse(logsIn(directory_).value(), {symbolizer, fs::current_path()});
  }

  static LogBuilder logWithFinding() {
    LogBuilder log;
    Event event;
    event.kind = EventKind::kBlock;
    event.flags = kBlocks;
    event.from = cuda(0);
    event.op = log.string("aten::nonzero");
    event.stack = log.stack({python("train", 9)});
    log.add(event);
    return log;
  }

  test::TemporaryFolder temporary_;
  const fs::path &directory_ = temporary_.path();
};

TEST_F(AnalysisTest, NothingWasLoadedWhereThereIsNoLog) {
  write("notes.txt", {});
  const Analysis analysis = analysed();
  EXPECT_FALSE(analysis.torch_was_loaded);
  EXPECT_TRUE(analysis.findings.empty());
  EXPECT_TRUE(analysis.notes.empty());
}

TEST_F(AnalysisTest, SaysThatKernelsComputedNothing) {
  LogBuilder log;
  log.header.pid = 7;
  log.header.simulated_devices = 1;
  log.header.kernels_without_effect = 2;
  write("7-1.devsanlog", log.bytes());
  log.header.pid = 8;
  write("8-1.devsanlog", log.bytes());
  const Analysis analysis = analysed();
  ASSERT_EQ(analysis.notes.size(), 1u);
  EXPECT_EQ(analysis.notes[0],
            "2 GPU kernels of the program computed nothing on the simulated devices, so "
            "what depends on their results was not seen: give them host implementations "
            "(devsan.host_kernel, devsan/host_kernel.h)");
}

TEST_F(AnalysisTest, ReadsAllProcesses) {
  write("1-1.devsanlog", logWithFinding().bytes());
  write("2-1.devsanlog", logWithFinding().bytes());
  const Analysis analysis = analysed();
  EXPECT_TRUE(analysis.torch_was_loaded);
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].count, 2u);
  EXPECT_EQ(analysis.findings[0].locations[0].line, 9u);
}

TEST_F(AnalysisTest, NamesALogThatCannotBeRead) {
  write("1-1.devsanlog", {});
  write("2-1.devsanlog", logWithFinding().bytes());
  const Analysis analysis = analysed();
  EXPECT_TRUE(analysis.torch_was_loaded);
  EXPECT_EQ(analysis.findings.size(), 1u);
  ASSERT_EQ(analysis.unreadable.size(), 1u);
  EXPECT_NE(analysis.unreadable[0].find("1-1.devsanlog at offset 0"), std::string::npos);
}

TEST_F(AnalysisTest, SaysThatEventsWereLost) {
  LogBuilder log = logWithFinding();
  std::vector<std::byte> count(sizeof(std::uint64_t));
  count[0] = std::byte{3};
  log.record(RecordKind::kDropped, count);
  write("1-1.devsanlog", log.bytes());
  const Analysis analysis = analysed();
  ASSERT_EQ(analysis.notes.size(), 1u);
  EXPECT_EQ(analysis.notes[0],
            "process 42: 3 events found no room in the log and are missing here");
}

TEST_F(AnalysisTest, DoesWithoutSymbols) {
  LogBuilder log;
  Event event;
  event.kind = EventKind::kBlock;
  event.from = cuda(0);
  event.stack = log.stack({user("main", 9)});
  log.add(event);
  write("1-1.devsanlog", log.bytes());
  const Analysis analysis = analysed("/no/such/symbolizer");
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].locations[0].file, "/src/train");
  ASSERT_EQ(analysis.notes.size(), 2u);
  EXPECT_NE(analysis.notes[0].find("/no/such/symbolizer"), std::string::npos);
  EXPECT_EQ(analysis.notes[1],
            "/src/train has no line tables: compile it with -g1 to see which lines");
}

// Waits at `places` lines, with callers of some depth.
LogBuilder logOf(unsigned places, int rank) {
  LogBuilder log;
  log.header.rank = rank;
  log.header.pid = static_cast<std::uint32_t>(100 + rank);
  log.header.start_time_ns = static_cast<std::uint64_t>(rank);
  Event event;
  event.kind = EventKind::kBlock;
  event.flags = kBlocks;
  event.from = cuda(rank);
  event.op = log.string("aten::nonzero");
  for (unsigned line = 1; line <= places; ++line) {
    event.stack = log.stack({python("forward", line, "/src/model.py"), python("step", 30),
                             python("train", 20), python("main", 10)});
    log.add(event);
  }
  return log;
}

TEST_F(AnalysisTest, AThousandFindingsOfSixtyFourRanksAreAThousandFindings) {
  for (int rank = 0; rank < 64; ++rank)
    write(std::to_string(rank) + ".devsanlog", logOf(1000, rank).bytes());
  const Analysis analysis = analysed();
  EXPECT_EQ(analysis.ranks.size(), 64u);
  EXPECT_EQ(analysis.processes, 64u);
  ASSERT_EQ(analysis.findings.size(), 1000u);
  for (const core::Finding &finding : analysis.findings) {
    ASSERT_EQ(finding.ranks.size(), 64u);
    ASSERT_EQ(finding.count, 64u);
    ASSERT_EQ(finding.rank, 0);
  }
}

TEST_F(AnalysisTest, TheStepsOfEachProcessAreKept) {
  write("1.devsanlog", logOf(1, 0).bytes());
  LogBuilder with_steps = logOf(1, 1);
  Event ended;
  ended.kind = EventKind::kStep;
  with_steps.add(ended);
  write("2.devsanlog", with_steps.bytes());
  const Analysis analysis = analysed();
  ASSERT_EQ(analysis.findings.size(), 1u);
  const core::Finding &finding = analysis.findings[0];
  EXPECT_EQ(finding.steps, (core::Steps{1, 1, 0, 0, 1}));
  EXPECT_EQ(finding.message.find("step"), std::string::npos);
  ASSERT_EQ(finding.loads.size(), 2u);
  EXPECT_LT(finding.loads[0].process, finding.loads[1].process);
  EXPECT_EQ(finding.loads[0].most + finding.loads[1].most, 2u);
}

TEST_F(AnalysisTest, FindingsThatAreTakenAwayAreAskedForOnceInEachProcess) {
  write("1.devsanlog", logOf(10, 0).bytes());
  write("2.devsanlog", logOf(10, 1).bytes());
  unsigned asked = 0;
  const Analysis analysis = analyse(logsIn(directory_).value(),
                                    {DEVSAN_SYMBOLIZER, "/src", [&](const core::Finding &finding) {
                                       ++asked;
                                       return finding.locations[0].line == 3;
                                     }});
  EXPECT_EQ(asked, 20u);
  EXPECT_EQ(analysis.findings.size(), 9u);
}

} // namespace
} // namespace devsan::runtime
