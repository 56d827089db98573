#include "runtime/analysis/live_session.h"
#include "runtime/read/testing/log_builder.h"
#include "test/support/temporary_folder.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

using namespace testing;
namespace fs = std::filesystem;

class LiveSessionTest : public ::testing::Test {
protected:
  LiveSession session(std::uint32_t process = 0, const char *symbolizer = DEVSAN_SYMBOLIZER) const {
    return LiveSession({directory_, process, symbolizer, fs::current_path()});
  }

  Event wait(LogBuilder &log, unsigned line) {
    Event event;
    event.kind = EventKind::kBlock;
    event.flags = kBlocks;
    event.from = cuda(0);
    event.op = log.string("aten::nonzero");
    event.stack = log.stack({python("train", line)});
    return event;
  }

  // What the runtime has written so far.
  void write(const LogBuilder &log) {
    const std::vector<std::byte> bytes = log.bytes();
    std::ofstream(directory_ / (std::to_string(log.header.pid) + "-1.devsanlog"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  static std::vector<std::pair<unsigned, std::uint64_t>>
  linesOf(const std::vector<core::Finding> &findings) {
    std::vector<std::pair<unsigned, std::uint64_t>> lines;
    for (const core::Finding &finding : findings)
      lines.emplace_back(finding.locations[0].line, finding.count);
    return lines;
  }

  using Lines = std::vector<std::pair<unsigned, std::uint64_t>>;
  test::TemporaryFolder temporary_;
  const fs::path &directory_ = temporary_.path();
};

TEST_F(LiveSessionTest, TellsWhatCameInWhichPart) {
  LiveSession live = session();
  EXPECT_FALSE(live.anyLog());
  LogBuilder log;
  const Event first = wait(log, 3);
  log.add(first);
  write(log);
  live.enter("a");
  log.add(first, 2);
  const Event second = wait(log, 5);
  log.add(second);
  write(log);
  live.enter("b");
  log.add(second, 3);
  write(log);
  live.enter("a"); // again
  log.add(first, 4);
  write(log);
  EXPECT_EQ(linesOf(live.take("before")), (Lines{{3, 1}}));
  EXPECT_EQ(linesOf(live.take("a")), (Lines{{3, 6}, {5, 1}}));
  EXPECT_EQ(linesOf(live.take("b")), (Lines{{5, 3}}));
  EXPECT_TRUE(live.take("a").empty());
  EXPECT_TRUE(live.take("never").empty());
  EXPECT_TRUE(live.anyLog());
}

TEST_F(LiveSessionTest, ChildrenAreOfThePartInWhichTheyDoIt) {
  LiveSession live = session(42);
  LogBuilder parent, child, stranger;
  child.header.pid = 43;
  child.header.parent_pid = 42;
  stranger.header.pid = 4000001; // no process has such a number
  stranger.header.parent_pid = 4000000;
  write(parent);
  live.enter("a");
  child.add(wait(child, 7));
  stranger.add(wait(stranger, 9));
  write(child);
  write(stranger);
  EXPECT_EQ(linesOf(live.take("a")), (Lines{{7, 1}}));
}

TEST_F(LiveSessionTest, AMissingSymbolizerIsSaidOnce) {
  LiveSession live = session(0, "/no/such/symbolizer");
  LogBuilder log;
  Event event = wait(log, 3);
  event.stack = log.stack({op("nonzero"), python("train", 3)});
  log.add(event);
  write(log);
  EXPECT_EQ(linesOf(live.take("before")), (Lines{{3, 1}}));
  const std::vector<std::string> notes = live.takeNotes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("/no/such/symbolizer"), std::string::npos);
  log.add(event);
  write(log);
  EXPECT_EQ(live.take("before").size(), 1u);
  EXPECT_TRUE(live.takeNotes().empty());
}

} // namespace
} // namespace devsan::runtime
