#include "runtime/hooks/interner.h"
#include "runtime/hooks/log_writer.h"
#include "runtime/hooks/modules.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace devsan::runtime {
namespace {

namespace fs = std::filesystem;

// What a log holds, read as log_format.h says.
struct Log {
  FileHeader header;
  std::vector<Event> events;
  std::map<StringId, std::string> strings;
  std::map<StackId, std::vector<FrameRecord>> stacks;
  std::vector<std::string> modules;
  std::uint64_t dropped = 0;
  int ends = 0;
};

template <typename T> T take(const std::string &bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Log readLog(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  Log log;
  log.header = take<FileHeader>(bytes, 0);
  EXPECT_EQ(log.header.magic, kLogMagic);
  std::size_t offset = sizeof(FileHeader);
  while (offset + sizeof(RecordHeader) <= bytes.size()) {
    auto header = take<RecordHeader>(bytes, offset);
    if (header.magic != kRecordMagic || header.size == 0) {
      offset += 8;
      continue;
    }
    EXPECT_EQ(header.size % 8, 0u);
    EXPECT_LE(offset + header.size, bytes.size());
    std::size_t body = offset + sizeof header;
    switch (RecordKind(header.kind)) {
    case RecordKind::kUnfinished:
      break;
    case RecordKind::kEvent:
      log.events.push_back(take<Event>(bytes, body));
      break;
    case RecordKind::kString: {
      auto record = take<StringRecord>(bytes, body);
      log.strings[record.id] = bytes.substr(body + sizeof record, record.length);
      break;
    }
    case RecordKind::kStack: {
      auto record = take<StackRecord>(bytes, body);
      auto &frames = log.stacks[record.id];
      for (std::uint32_t i = 0; i < record.count; ++i)
        frames.push_back(take<FrameRecord>(bytes, body + sizeof record + i * sizeof(FrameRecord)));
      break;
    }
    case RecordKind::kModule: {
      auto record = take<ModuleRecord>(bytes, body);
      log.modules.push_back(bytes.substr(body + sizeof record, record.path_length));
      break;
    }
    case RecordKind::kDropped:
      log.dropped += take<std::uint64_t>(bytes, body);
      break;
    case RecordKind::kEnd:
      ++log.ends;
      break;
    }
    offset += header.size;
  }
  return log;
}

class LogWriterTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "devsan-log-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  // The logs in the test's directory, by process.
  std::map<std::uint32_t, Log> logs() const {
    std::map<std::uint32_t, Log> result;
    for (const auto &entry : fs::directory_iterator(directory_)) {
      Log log = readLog(entry.path());
      result[log.header.pid] = std::move(log);
    }
    return result;
  }
  Log onlyLog() const {
    auto all = logs();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Log{} : all.begin()->second;
  }
  std::unique_ptr<LogWriter> openLog() const {
    auto log = std::make_unique<LogWriter>();
    std::string error;
    EXPECT_TRUE(log->open(directory_.c_str(), 2, error)) << error;
    return log;
  }

  fs::path directory_;
};

Event numbered(std::uint32_t thread, std::uint64_t number) {
  Event event;
  event.thread = thread;
  event.bytes = number;
  return event;
}

// Runs `body` in a child, so that limits and deaths stay there; returns its wait status.
template <typename Body> int inChild(Body body) {
  pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST_F(LogWriterTest, KeepsEveryEventOfManyThreadsOnce) {
  constexpr std::uint32_t kThreads = 100;
  constexpr std::uint64_t kEvents = 1000;
  auto log = openLog();
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < kEvents; ++i)
        EXPECT_TRUE(log->append(numbered(thread, i)));
    });
  for (auto &thread : threads)
    thread.join();
  log->end();

  Log read = onlyLog();
  EXPECT_EQ(read.header.simulated_devices, 2u);
  EXPECT_EQ(read.header.pid, std::uint32_t(getpid()));
  EXPECT_EQ(read.events.size(), kThreads * kEvents);
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
  for (const Event &event : read.events)
    seen.insert({event.thread, event.bytes});
  EXPECT_EQ(seen.size(), kThreads * kEvents);
  EXPECT_EQ(read.dropped, 0u);
  EXPECT_EQ(read.ends, 1);
}

TEST_F(LogWriterTest, InternsEachContentOnce) {
  auto log = openLog();
  Interner interner(*log);
  interner.resetInChild();
  std::vector<std::thread> threads;
  std::vector<std::vector<StringId>> ids(8);
  for (auto &own : ids)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        own.push_back(interner.string("name" + std::to_string(i)));
    });
  for (auto &thread : threads)
    thread.join();
  FrameRecord frames[2] = {{0x1000, 0, 0, 0, 0}, {0, ids[0][0], ids[0][1], 7, 0}};
  bool is_new = false;
  StackId stack = interner.stack(frames, &is_new);
  EXPECT_TRUE(is_new);
  EXPECT_EQ(interner.stack(frames, &is_new), stack);
  EXPECT_FALSE(is_new);
  frames[1].line = 8;
  EXPECT_NE(interner.stack(frames), stack);
  EXPECT_EQ(interner.string(""), 0u);

  Log read = onlyLog();
  EXPECT_EQ(read.strings.size(), 500u);
  for (const auto &own : ids)
    for (int i = 0; i < 500; ++i)
      EXPECT_EQ(read.strings.at(own[i]), "name" + std::to_string(i));
  EXPECT_EQ(read.stacks.size(), 2u);
  EXPECT_EQ(read.stacks.at(stack)[1].line, 7u);
}

TEST_F(LogWriterTest, WritesTheMappedModules) {
  auto log = openLog();
  forgetWrittenModules();
  EXPECT_TRUE(writeNewModules(*log));
  EXPECT_FALSE(writeNewModules(*log));
  Log read = onlyLog();
  std::string self = fs::read_symlink("/proc/self/exe");
  EXPECT_EQ(std::count(read.modules.begin(), read.modules.end(), self), 1);
}

TEST_F(LogWriterTest, AForkedChildWritesItsOwnLog) {
  auto log = openLog();
  log->append(numbered(1, 1));
  int status = inChild([&] {
    log->resetInChild();
    log->append(numbered(2, 2));
    log->append(numbered(2, 3));
  });
  EXPECT_EQ(status, 0);
  log->append(numbered(1, 4));

  auto all = logs();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at(getpid()).events.size(), 2u);
  all.erase(getpid());
  const Log &child = all.begin()->second;
  EXPECT_EQ(child.events.size(), 2u);
  EXPECT_EQ(child.header.parent_pid, std::uint32_t(getpid()));
}

TEST_F(LogWriterTest, ASilentChildWritesNoLog) {
  auto log = openLog();
  inChild([&] { log->resetInChild(); });
  EXPECT_EQ(logs().size(), 1u);
}

TEST_F(LogWriterTest, AKilledProcessLosesNothing) {
  int status = inChild([&] {
    auto log = openLog();
    for (std::uint64_t i = 0; i < 20'000; ++i)
      log->append(numbered(0, i));
    kill(getpid(), SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  Log read = onlyLog();
  EXPECT_EQ(read.events.size(), 20'000u);
  EXPECT_EQ(read.ends, 0);
}

TEST_F(LogWriterTest, AFullDiskIsCountedAndEndsNothing) {
  constexpr std::uint64_t kEvents = 40'000;
  int status = inChild([&] {
    rlimit limit{2 * LogWriter::kSegmentSize, 2 * LogWriter::kSegmentSize};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto log = openLog();
    for (std::uint64_t i = 0; i < kEvents; ++i)
      log->append(numbered(0, i));
  });
  EXPECT_EQ(status, 0);
  Log read = onlyLog();
  EXPECT_GT(read.events.size(), 10'000u);
  EXPECT_GT(read.dropped, 0u);
  EXPECT_EQ(read.events.size() + read.dropped, kEvents);
}

TEST_F(LogWriterTest, NamesWhyItCannotOpen) {
  static LogWriter log; // too large for the stack
  std::string error;
  EXPECT_FALSE(log.open((directory_ / "missing").c_str(), 0, error));
  EXPECT_EQ(error, "No such file or directory");
  EXPECT_FALSE(log.append(numbered(0, 0)));
}

} // namespace
} // namespace devsan::runtime
