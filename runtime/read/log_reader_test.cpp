#include "runtime/read/log_reader.h"
#include "runtime/read/testing/log_builder.h"
#include "test/support/temporary_folder.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace devsan::runtime {
namespace {

using testing::LogBuilder;

template <typename T> std::vector<std::byte> bytesOf(const T &value, std::size_t extra = 0) {
  std::vector<std::byte> bytes(sizeof value + extra);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

LogBuilder smallLog() {
  LogBuilder log;
  Event event;
  event.kind = EventKind::kCopy;
  event.op = log.string("aten::copy_");
  event.stack =
      log.stack({testing::op("copy_"), testing::user("main", 3), testing::python("f", 7)});
  log.add(event, 2);
  log.record(RecordKind::kEnd, {});
  return log;
}

Event inStep(Event event, std::uint32_t step) {
  event.step = step;
  return event;
}

ProcessLog parsed(const std::vector<std::byte> &bytes) {
  auto log = parseLog(bytes, "a.devsanlog");
  EXPECT_TRUE(log) << log.error().message;
  return log.value_or(ProcessLog());
}

TEST(LogReader, ReadsWhatWasWritten) {
  const ProcessLog log = parsed(smallLog().bytes());
  EXPECT_EQ(log.header.pid, 42u);
  ASSERT_EQ(log.tallies.size(), 1u);
  EXPECT_EQ(log.tallies[0].occurrences.count, 2u);
  ASSERT_EQ(log.events.size(), 2u);
  EXPECT_EQ(log.tally_of, (std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(log.string(log.events[0].op), "aten::copy_");
  ASSERT_EQ(log.stack(log.events[0].stack).size(), 3u);
  EXPECT_EQ(log.string(log.stack(log.events[0].stack)[2].function), "f");
  EXPECT_EQ(log.modules.size(), 2u);
  EXPECT_TRUE(log.ended);
  EXPECT_TRUE(log.damage.empty());
}

TEST(LogReader, UnknownIdsAreEmpty) {
  const ProcessLog log = parsed(smallLog().bytes());
  EXPECT_EQ(log.string(0), "");
  EXPECT_EQ(log.string(4000000000u), "");
  EXPECT_TRUE(log.stack(0).empty());
  EXPECT_TRUE(log.stack(4000000000u).empty());
}

// The allocation is exact, so that AddressSanitizer sees a read beyond the end.
TEST(LogReader, SurvivesTruncationAtEveryByte) {
  const std::vector<std::byte> whole = smallLog().bytes();
  const ProcessLog complete = parsed(whole);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::vector<std::byte> part(whole.begin(),
                                      whole.begin() + static_cast<std::ptrdiff_t>(size));
    auto log = parseLog(part, "a.devsanlog");
    ASSERT_EQ(log.has_value(), size >= sizeof(FileHeader)) << size;
    if (!log) {
      EXPECT_NE(log.error().message.find("a.devsanlog at offset 0"), std::string::npos);
      continue;
    }
    EXPECT_LE(log->events.size(), complete.events.size());
    EXPECT_LE(log->strings.size(), complete.strings.size());
    for (const std::string &sentence : log->damage)
      EXPECT_NE(sentence.find("a.devsanlog at offset "), std::string::npos);
  }
}

TEST(LogReader, SurvivesEveryByteOverwritten) {
  const std::vector<std::byte> whole = smallLog().bytes();
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (std::byte value :
         {std::byte{0}, std::byte{0xff}, std::byte{0x80}, whole[i] ^ std::byte{1}}) {
      std::vector<std::byte> damaged = whole;
      damaged[i] = value;
      auto log = parseLog(damaged, "a.devsanlog");
      if (log)
        Recording::addresses(*log);
      else
        EXPECT_LT(i, sizeof(FileHeader));
    }
}

TEST(LogReader, SkipsARecordThatWasNeverFinished) {
  LogBuilder log;
  Event event;
  log.record(RecordKind::kSample, bytesOf(SampleRecord()), /*finished=*/false);
  log.add(event);
  const ProcessLog result = parsed(log.bytes());
  EXPECT_EQ(result.events.size(), 1u);
  EXPECT_EQ(result.unfinished, 1u);
  EXPECT_TRUE(result.damage.empty());
}

TEST(LogReader, FindsTheNextRecordAfterRoomThatWasNeverWritten) {
  LogBuilder log;
  std::vector<std::byte> bytes = log.bytes();
  bytes.resize(bytes.size() + 80);
  LogBuilder tail;
  tail.string("far");
  const std::vector<std::byte> rest = tail.bytes();
  bytes.insert(bytes.end(), rest.begin() + sizeof(FileHeader), rest.end());
  bytes.resize(bytes.size() + 4096); // the rest of the segment
  const ProcessLog result = parsed(bytes);
  EXPECT_EQ(result.string(1), "far");
  EXPECT_TRUE(result.damage.empty());
}

TEST(LogReader, LeavesOutTalliesThatCountNothing) {
  LogBuilder log;
  log.tally(Event());
  const ProcessLog result = parsed(log.bytes());
  EXPECT_TRUE(result.tallies.empty());
  EXPECT_TRUE(result.damage.empty());
}

// A process that is killed between two numbers of a tally leaves them so.
TEST(LogReader, BelievesTheCountOfATally) {
  LogBuilder log;
  TallyRecord &tally = log.tally(Event());
  tally.count = 1;
  tally.steps = 2;
  tally.most_in_step = 3;
  const ProcessLog result = parsed(log.bytes());
  ASSERT_EQ(result.tallies.size(), 1u);
  EXPECT_EQ(result.tallies[0].occurrences.steps, 1u);
  EXPECT_EQ(result.tallies[0].occurrences.most_in_step, 1u);
}

TEST(LogReader, TellsInWhichStepsATallyCame) {
  LogBuilder log;
  Event event;
  event.thread = 7;
  for (std::uint32_t step : {0, 0, 10, 20, 30, 31, 31, 35, 39, 43})
    log.add(inStep(event, step));
  const std::vector<StepRun> runs{{0, 0, 1, 2}, {10, 10, 3, 1}, {31, 0, 1, 2}, {35, 4, 3, 1}};
  EXPECT_EQ(parsed(log.bytes()).tallies.at(0).occurrences.runs, runs);

  // One that found no room in the log, or lies.
  for (StepRun run : {StepRun{}, {29, 0, 1, 1}, {44, 1, 1, 1}, {0, 1, 5, 2}, {0, 0, 2, 1}}) {
    LogBuilder wrong;
    wrong.add(inStep(event, 30)).add(inStep(event, 43));
    wrong.tally(event).run = run;
    const ProcessLog result = parsed(wrong.bytes());
    EXPECT_TRUE(result.tallies.at(0).occurrences.runs.empty());
    EXPECT_EQ(result.tallies.at(0).occurrences.steps, 2u);
    EXPECT_TRUE(result.damage.empty());
  }
}

TEST(LogReader, NamesFileAndOffsetOfDamage) {
  LogBuilder log;
  log.record(RecordKind::kString, bytesOf(StringRecord{1, 0xffffffff}));
  log.record(RecordKind::kStack, bytesOf(StackRecord{1, 0xffffffff}));
  log.record(RecordKind::kModule, bytesOf(ModuleRecord{0, 0, 1, 0xffffffff, 0}));
  log.record(static_cast<RecordKind>(77), {});
  log.record(RecordKind::kTally, bytesOf(std::uint64_t{0}));
  log.record(RecordKind::kSample, bytesOf(SampleRecord()));
  log.add(Event());
  const ProcessLog result = parsed(log.bytes());
  EXPECT_EQ(result.events.size(), 1u);
  ASSERT_EQ(result.damage.size(), 5u); // four, and how many more
  EXPECT_EQ(result.damage[0], "a.devsanlog at offset 48: malformed record of kind 2");
  EXPECT_EQ(result.damage[4], "a.devsanlog: 2 more damaged places");
}

TEST(LogReader, KeepsTheEndsOfAllSteps) {
  LogBuilder log;
  Event event;
  event.kind = EventKind::kStep;
  for (event.step = 0; event.step < 100; ++event.step) {
    event.time_ns = 10 * event.step;
    log.add(event);
  }
  log.add(Event());
  const ProcessLog result = parsed(log.bytes());
  ASSERT_EQ(result.step_ends.size(), 100u);
  EXPECT_EQ(result.step_ends[99].step, 99u);
  EXPECT_EQ(result.step_ends[99].time_ns, 990u);
  EXPECT_EQ(result.tallies.at(result.step_ends[99].tally).first.kind, EventKind::kStep);
  EXPECT_EQ(result.events.size(), 1u);
}

TEST(LogReader, RejectsHostileSizes) {
  for (std::uint32_t size : {1u, 4u, 12u, 0xfffffff8u, 0xffffffffu}) {
    LogBuilder log;
    std::vector<std::byte> bytes = log.bytes();
    RecordHeader header;
    header.kind = static_cast<std::uint16_t>(RecordKind::kTally);
    header.size = size;
    const std::vector<std::byte> record = bytesOf(header, 8);
    bytes.insert(bytes.end(), record.begin(), record.end());
    const ProcessLog result = parsed(bytes);
    EXPECT_TRUE(result.events.empty());
    ASSERT_FALSE(result.damage.empty()) << size;
    EXPECT_NE(result.damage[0].find("at offset 48"), std::string::npos);
  }
}

TEST(LogReader, CountsDroppedEvents) {
  LogBuilder log;
  log.record(RecordKind::kDropped, bytesOf(std::uint64_t{5}));
  log.record(RecordKind::kDropped, bytesOf(std::uint64_t{2}));
  EXPECT_EQ(parsed(log.bytes()).dropped, 7u);
}

TEST(LogReader, RejectsOtherFilesAndVersions) {
  LogBuilder log;
  log.header.magic = 1;
  EXPECT_EQ(parseLog(log.bytes(), "x").error().message, "x at offset 0: this is no event log");
  log.header = FileHeader();
  for (std::uint32_t version : {1u, 3u, 9u}) {
    log.header.version = version;
    EXPECT_EQ(parseLog(log.bytes(), "x").error().message,
              "x at offset 8: event log of version " + std::to_string(version) +
                  ", this devsan reads version 5; read it with the devsan that wrote it, or record "
                  "it again");
  }
}

TEST(LogReader, NamesAFileThatIsNotThere) {
  EXPECT_EQ(readLog("/no/such.devsanlog").error().message,
            "cannot read /no/such.devsanlog: No such file or directory");
}

TEST(LogReader, ReadsAFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "1-1.devsanlog";
  const std::vector<std::byte> bytes = smallLog().bytes();
  std::ofstream(path).write(reinterpret_cast<const char *>(bytes.data()),
                            static_cast<std::streamsize>(bytes.size()));
  auto log = readLog(path);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->events.size(), 2u);
}

TEST(LogReader, SaysThatAFileWasTruncated) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "1-1.devsanlog";
  for (const std::uint32_t segments : {0u, 1u, 3u}) {
    LogBuilder builder = smallLog();
    builder.header.segments = segments;
    const std::vector<std::byte> bytes = builder.bytes();
    std::ofstream(path).write(reinterpret_cast<const char *>(bytes.data()),
                              static_cast<std::streamsize>(bytes.size()));
    const std::size_t whole = std::max(segments, 1u) * kSegmentSize;
    for (const auto &[size, is_damaged] : {std::pair{sizeof(FileHeader), true},
                                           {bytes.size(), true},
                                           {whole - kSegmentSize / 2, true},
                                           {whole - kSegmentSize, segments > 1},
                                           {whole, false},
                                           {whole + kSegmentSize, false},
                                           {whole + 8, true}}) {
      if (size < sizeof(FileHeader))
        continue;
      std::filesystem::resize_file(path, size);
      const auto log = readLog(path);
      ASSERT_TRUE(log);
      EXPECT_EQ(!log->damage.empty(), is_damaged) << segments << " segments, " << size << " bytes";
    }
  }
}

class LogFollowing : public ::testing::Test {
protected:
  Event event(const char *op, const char *function) {
    Event event;
    event.kind = EventKind::kBlock;
    event.op = log_.string(op);
    event.stack = log_.stack({testing::op("item"), testing::python(function, 7)});
    return event;
  }
  // As it is while the program runs: room that nobody has written yet follows.
  void write() {
    const std::vector<std::byte> bytes = log_.bytes();
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file << std::string(4096, '\0');
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_.path() / "followed.devsanlog";
  LogBuilder log_;
};

TEST_F(LogFollowing, TellsWhatCameSinceTheLastTime) {
  LogFollower follower(path_);
  EXPECT_TRUE(follower.read().empty()); // no file yet
  const Event first = event("aten::item", "f");
  log_.add(first, 2);
  write();
  std::vector<TallyGrowth> grown = follower.read();
  ASSERT_EQ(grown.size(), 1u);
  EXPECT_EQ(grown[0].occurrences.count, 2u);
  EXPECT_TRUE(follower.read().empty());

  const Event second = event("aten::nonzero", "g");
  log_.add(second, 1);
  log_.tally(first).count += 3;
  log_.tally(first).bytes += 30;
  write();
  grown = follower.read();
  ASSERT_EQ(grown.size(), 2u);
  EXPECT_EQ(grown[0].occurrences.count, 3u);
  EXPECT_EQ(grown[0].occurrences.bytes, 30u);
  EXPECT_EQ(grown[1].occurrences.count, 1u);

  const ProcessLog &only = follower.only(std::span(grown).subspan(1));
  ASSERT_EQ(only.tallies.size(), 1u);
  EXPECT_EQ(only.string(only.tallies[0].first.op), "aten::nonzero");
  EXPECT_EQ(only.string(only.stack(only.tallies[0].first.stack)[1].function), "g");
  EXPECT_EQ(only.modules.size(), follower.log().modules.size());
}

TEST_F(LogFollowing, ARecordThatIsFinishedLaterIsReadThen) {
  LogFollower follower(path_);
  const Event first = event("aten::item", "f");
  log_.add(first);
  const std::size_t at = log_.bytes().size();
  log_.record(RecordKind::kString, bytesOf(StringRecord{77, 4}, 4), /*finished=*/false);
  log_.add(event("aten::nonzero", "g"));
  write();
  EXPECT_EQ(follower.read().size(), 2u);
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  // The kind comes last.
  std::uint16_t kind = std::uint16_t(RecordKind::kString);
  file.seekp(std::streamoff(at + offsetof(RecordHeader, kind)));
  file.write(reinterpret_cast<const char *>(&kind), sizeof kind);
  file.close();
  EXPECT_TRUE(follower.read().empty());
  EXPECT_TRUE(follower.log().strings.contains(77));
}

TEST_F(LogFollowing, ATallyThatCountsNothingYetIsSeenWhenItDoes) {
  LogFollower follower(path_);
  const Event first = event("aten::item", "f");
  log_.add(first);
  log_.tally(first).count = 0;
  write();
  EXPECT_TRUE(follower.read().empty());
  log_.tally(first).count = 1;
  write();
  ASSERT_EQ(follower.read().size(), 1u);
}

TEST_F(LogFollowing, WhatIsNoLogHasNothingInIt) {
  std::ofstream(path_) << "not a log of any kind, but long enough to hold a header of its own";
  LogFollower follower(path_);
  EXPECT_TRUE(follower.read().empty());
}

} // namespace
} // namespace devsan::runtime
