#include "runtime/log/interner.h"
#include "runtime/log/log_writer.h"
#include "runtime/log/tallies.h"
#include "runtime/protocol/run_board.h"
#include "runtime/stacks/modules.h"
#include "test/support/temporary_folder.h"

#include <algorithm>
#include <barrier>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <regex>
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
  std::map<std::uint64_t, TallyRecord> tallies; // by offset
  std::map<std::uint64_t, std::vector<SampleRecord>> samples;
  std::map<std::uint64_t, std::vector<SampleRecord>> traced;
  std::map<std::uint64_t, std::vector<StepRun>> runs;
  std::vector<ClockRecord> clocks;
  std::map<StringId, std::string> strings;
  std::map<StackId, std::vector<FrameRecord>> stacks;
  std::vector<std::string> modules;
  std::uint64_t dropped = 0;
  int ends = 0;
  std::uint64_t size = 0; // of what was written

  std::uint64_t count() const {
    std::uint64_t sum = 0;
    for (const auto &[offset, tally] : tallies)
      sum += tally.count;
    return sum;
  }
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
    case RecordKind::kTally:
      log.tallies[offset] = take<TallyRecord>(bytes, body);
      break;
    case RecordKind::kSample: {
      auto sample = take<SampleRecord>(bytes, body);
      EXPECT_TRUE(log.tallies.contains(sample.tally)); // it comes first
      log.samples[sample.tally].push_back(sample);
      break;
    }
    case RecordKind::kTraced: {
      auto traced = take<SampleRecord>(bytes, body);
      EXPECT_TRUE(log.tallies.contains(traced.tally));
      EXPECT_FALSE(log.clocks.empty()); // one comes first
      log.traced[traced.tally].push_back(traced);
      break;
    }
    case RecordKind::kSteps: {
      auto steps = take<StepsRecord>(bytes, body);
      EXPECT_TRUE(log.tallies.contains(steps.tally));
      log.runs[steps.tally].push_back(steps.run);
      break;
    }
    case RecordKind::kClock:
      log.clocks.push_back(take<ClockRecord>(bytes, body));
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
    log.size = offset;
  }
  return log;
}

class LogWriterTest : public testing::Test {
protected:
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
    EXPECT_TRUE(log->open(directory_.c_str(), 2));
    return log;
  }
  // The table of tallies is one per process: empty for each test.
  static std::unique_ptr<Tallies> talliesIn(LogWriter &log) {
    auto tallies = std::make_unique<Tallies>(log);
    tallies->resetInChild();
    return tallies;
  }

  test::TemporaryFolder temporary_;
  const fs::path &directory_ = temporary_.path();
};

// Equal where thread and kind are; `bytes` is the number.
Event numbered(std::uint32_t thread, std::uint64_t number) {
  Event event;
  event.thread = thread;
  event.bytes = number;
  return event;
}

// No two of them are equal.
Event distinct(std::uint32_t number) {
  Event event = numbered(1, 1);
  event.stack = number;
  return event;
}

template <typename Body> void inThreads(std::uint32_t count, Body body) {
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 1; thread <= count; ++thread)
    threads.emplace_back(body, thread);
  for (auto &thread : threads)
    thread.join();
}

long residentKiB() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmRSS:"))
      return std::stol(line.substr(6));
  return 0;
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

TEST_F(LogWriterTest, CountsEveryEventOfAThousandThreadsOnce) {
  constexpr std::uint32_t kThreads = 1000;
  constexpr std::uint64_t kEvents = 1000;
  auto log = openLog();
  auto tallies = talliesIn(*log);
  inThreads(kThreads, [&](std::uint32_t thread) {
    for (std::uint64_t i = 0; i < kEvents; ++i)
      EXPECT_TRUE(tallies->count(numbered(thread, i)));
  });
  log->end();

  Log read = onlyLog();
  EXPECT_EQ(read.header.simulated_devices, 2u);
  EXPECT_EQ(read.header.pid, std::uint32_t(getpid()));
  ASSERT_EQ(read.tallies.size(), kThreads);
  std::set<std::uint32_t> threads;
  for (const auto &[offset, tally] : read.tallies) {
    threads.insert(tally.first.thread);
    EXPECT_EQ(tally.count, kEvents);
    EXPECT_EQ(tally.bytes, kEvents * (kEvents - 1) / 2);
    EXPECT_EQ(tally.largest, kEvents - 1);
    EXPECT_EQ(tally.steps, 1u);
    EXPECT_EQ(tally.most_in_step, kEvents);
    const auto &samples = read.samples.at(offset);
    ASSERT_EQ(samples.size(), Tallies::kSamples);
    for (std::uint64_t i = 0; i < samples.size(); ++i)
      EXPECT_EQ(samples[i].bytes, i);
  }
  EXPECT_EQ(threads.size(), kThreads);
  EXPECT_EQ(read.dropped, 0u);
  EXPECT_EQ(read.ends, 1);
}

TEST_F(LogWriterTest, WritesEventsOneByOneForATraceUpToABound) {
  constexpr std::uint32_t kThreads = 4, kEvents = 1000, kTraced = 2000;
  auto log = openLog();
  auto tallies = talliesIn(*log);
  tallies->trace(kTraced);
  inThreads(kThreads, [&](std::uint32_t thread) {
    for (std::uint64_t i = 0; i < kEvents; ++i)
      tallies->count(numbered(thread, i));
  });
  Log read = onlyLog();
  EXPECT_EQ(read.count(), kThreads * kEvents);
  std::size_t traced = 0;
  for (const auto &[offset, events] : read.traced) {
    traced += events.size();
    // Of one thread without a gap, after the samples.
    for (std::uint64_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].bytes, Tallies::kSamples + i);
      EXPECT_NE(events[i].time_ns, 0u);
    }
  }
  EXPECT_EQ(traced, kTraced);
}

TEST_F(LogWriterTest, NothingButSamplesIsWrittenWithoutATrace) {
  auto log = openLog();
  auto tallies = talliesIn(*log);
  for (std::uint64_t i = 0; i < 1000; ++i)
    tallies->count(numbered(1, i));
  EXPECT_TRUE(onlyLog().traced.empty());
}

TEST_F(LogWriterTest, WritesTheTimeOfEachStepsEnd) {
  constexpr std::uint32_t kSteps = 1000;
  for (const std::uint32_t traced : {0u, 10u}) {
    auto log = openLog();
    auto tallies = talliesIn(*log);
    tallies->trace(traced);
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      Event event = numbered(1, 0);
      event.kind = EventKind::kStep;
      event.step = step;
      tallies->countStepEnd(event);
      tallies->count(numbered(1, step));
    }
    Log read = onlyLog();
    fs::remove(fs::directory_iterator(directory_)->path());
    ASSERT_EQ(read.samples.size(), 2u);
    for (const auto &[offset, samples] : read.samples) {
      if (read.tallies.at(offset).first.kind != EventKind::kStep) {
        EXPECT_EQ(samples.size(), Tallies::kSamples);
        continue;
      }
      ASSERT_EQ(samples.size(), kSteps);
      for (std::uint32_t step = 0; step < kSteps; ++step)
        EXPECT_EQ(samples[step].step, step);
      EXPECT_TRUE(std::ranges::is_sorted(samples, {}, &SampleRecord::time_ns));
      EXPECT_FALSE(read.traced.contains(offset));
    }
    EXPECT_EQ(read.traced.empty(), traced == 0);
  }
}

TEST_F(LogWriterTest, EndsOfStepsLeaveRoomForSamplesAndHaveABound) {
  auto log = openLog();
  auto tallies = talliesIn(*log);
  Event end = numbered(1, 0);
  end.kind = EventKind::kStep;
  for (; end.step < Tallies::kMaxStepEnds + 100; ++end.step)
    tallies->countStepEnd(end);
  tallies->count(numbered(1, 7));
  Log read = onlyLog();
  for (const auto &[offset, samples] : read.samples)
    EXPECT_EQ(samples.size(),
              read.tallies.at(offset).first.kind == EventKind::kStep ? Tallies::kMaxStepEnds : 1u);
  EXPECT_EQ(read.samples.size(), 2u);
  EXPECT_EQ(read.count(), Tallies::kMaxStepEnds + 101u);
}

TEST_F(LogWriterTest, BothClocksAreReadAtTheSameMoment) {
  auto log = openLog();
  auto tallies = talliesIn(*log);
  timespec monotonic, real;
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  clock_gettime(CLOCK_REALTIME, &real);
  tallies->count(numbered(1, 1));
  Log read = onlyLog();
  ASSERT_EQ(read.clocks.size(), 1u);
  const auto ns = [](timespec time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
  const auto difference = std::int64_t(read.clocks[0].real_ns - read.clocks[0].monotonic_ns) -
                          (ns(real) - ns(monotonic));
  EXPECT_LT(std::abs(difference), 1'000'000); // what may lie between the two lines above
}

TEST_F(LogWriterTest, AChildHasATraceOfItsOwn) {
  auto log = openLog();
  auto tallies = talliesIn(*log);
  tallies->trace(10);
  const auto count = [&] {
    for (std::uint64_t i = 0; i < 100; ++i)
      tallies->count(numbered(1, i));
  };
  count(); // no more room for the parent
  const pid_t child = fork();
  if (child == 0) {
    log->resetInChild();
    tallies->resetInChild();
    count();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  auto all = logs();
  ASSERT_EQ(all.size(), 2u);
  for (const auto &[pid, read] : all) {
    ASSERT_EQ(read.traced.size(), 1u);
    EXPECT_EQ(read.traced.begin()->second.size(), 10u);
    EXPECT_EQ(read.clocks.size(), 1u);
  }
}

// Threads that share their tallies, as all do once there are too many.
TEST_F(LogWriterTest, CountsWhatManyThreadsShareOnce) {
  constexpr std::uint32_t kThreads = 8, kSteps = 50, kInStep = 400;
  auto log = openLog();
  auto tallies = talliesIn(*log);
  std::barrier together(kThreads);
  inThreads(kThreads, [&](std::uint32_t) {
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      for (std::uint32_t i = 0; i < kInStep; ++i) {
        Event event = numbered(0, 3);
        event.step = 2 * step;
        event.blocked_ns = 5;
        tallies->count(event);
      }
      together.arrive_and_wait();
    }
  });
  Log read = onlyLog();
  ASSERT_EQ(read.count(), kThreads * kSteps * kInStep);
  for (const auto &[offset, tally] : read.tallies) {
    if (tally.count == 0)
      continue; // of a thread that was too slow
    EXPECT_EQ(tally.count, kThreads * kSteps * kInStep);
    EXPECT_EQ(tally.bytes, 3 * tally.count);
    EXPECT_EQ(tally.blocked_ns, 5 * tally.count);
    EXPECT_EQ(tally.steps, kSteps);
    EXPECT_EQ(tally.most_in_step, kThreads * kInStep);
    EXPECT_EQ(tally.in_last_step >> 32, 2 * (kSteps - 1));
    EXPECT_EQ(read.samples.at(offset).size(), Tallies::kSamples);
  }
}

TEST_F(LogWriterTest, ManyThreadsThatMeetTheSameNewEventsShareThem) {
  constexpr std::uint32_t kThreads = 8, kDifferent = 2000;
  auto log = openLog();
  auto tallies = talliesIn(*log);
  inThreads(kThreads, [&](std::uint32_t) {
    for (std::uint32_t i = 0; i < kDifferent; ++i) {
      Event event = distinct(i);
      event.thread = 0;
      tallies->count(event);
    }
  });
  Log read = onlyLog();
  std::map<StackId, std::uint64_t> counts;
  for (const auto &[offset, tally] : read.tallies)
    if (tally.count) {
      EXPECT_TRUE(counts.emplace(tally.first.stack, tally.count).second);
      EXPECT_EQ(tally.count, kThreads);
    }
  EXPECT_EQ(counts.size(), kDifferent);
}

// As many threads, one after the other, as there are tallies with a thread, and more.
TEST_F(LogWriterTest, ThreadsThatComeAndGoDoNotMakeItGrow) {
  auto log = openLog();
  auto tallies = talliesIn(*log);
  constexpr std::uint32_t kThreads = 1'000'000;
  for (std::uint32_t thread = 1; thread <= kThreads; ++thread)
    EXPECT_TRUE(tallies->count(numbered(thread, 2)));
  Log read = onlyLog();
  EXPECT_EQ(read.count(), kThreads);
  EXPECT_EQ(read.tallies.size(), Tallies::kMaxOfThreads + 1);
  std::uint64_t shared = 0;
  for (const auto &[offset, tally] : read.tallies)
    if (tally.first.thread == 0)
      shared += tally.count;
  EXPECT_EQ(shared, kThreads - Tallies::kMaxOfThreads);
  EXPECT_LT(read.size, 32u << 20);
}

TEST_F(LogWriterTest, DifferentEventsWithoutEndDoNotMakeItGrow) {
  auto log = openLog();
  auto tallies = talliesIn(*log);
  constexpr std::uint32_t kEvents = 500'000;
  for (std::uint32_t i = 1; i <= kEvents; ++i)
    EXPECT_TRUE(tallies->count(distinct(i)));
  Log read = onlyLog();
  EXPECT_EQ(read.count(), kEvents);
  EXPECT_EQ(read.tallies.size(), Tallies::kMaxOfThreads + Tallies::kMaxShared + 1);
  EXPECT_LT(read.size, 48u << 20);
}

class LogWriterFullTest : public LogWriterTest {};

TEST_F(LogWriterFullTest, AHundredMillionEventsLeaveLogAndMemoryFlat) {
  constexpr std::uint64_t kEvents = 100'000'000, kSame = 1000;
  auto log = openLog();
  auto tallies = talliesIn(*log);
  const auto some = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) {
      Event event = distinct(std::uint32_t(i % kSame));
      event.step = std::uint32_t(i / 100'000);
      tallies->count(event);
    }
  };
  some(0, 1'000'000);
  const std::uint64_t size_before = onlyLog().size;
  const long resident_before = residentKiB();
  some(1'000'000, kEvents);
  EXPECT_LT(residentKiB(), resident_before + 1024);
  Log read = onlyLog();
  EXPECT_EQ(read.size, size_before);
  EXPECT_EQ(read.count(), kEvents);
  for (const auto &[offset, tally] : read.tallies) {
    EXPECT_EQ(tally.count, kEvents / kSame);
    EXPECT_EQ(tally.bytes, kEvents / kSame);
    EXPECT_EQ(tally.steps, 1000u);
    EXPECT_EQ(tally.most_in_step, 100u);
  }
}

// Every fifth step has another native stack, say, from 100 on, and each tenth counts twice.
TEST_F(LogWriterTest, KeepsTheStepsOfAThreadsTallyAsRuns) {
  auto log = openLog();
  auto tallies = talliesIn(*log);
  auto inStep = [&](std::uint32_t step, int times) {
    Event event = numbered(1, 0);
    event.step = step;
    for (int i = 0; i < times; ++i)
      tallies->count(event);
  };
  for (std::uint32_t step = 0; step < 100; ++step)
    inStep(step, 1);
  for (std::uint32_t step = 100; step < 200; step += 5)
    inStep(step, 1);
  for (std::uint32_t step = 200; step < 300; step += 10)
    inStep(step, 2);
  const Log read = onlyLog();
  ASSERT_EQ(read.tallies.size(), 1u);
  const auto &[offset, tally] = *read.tallies.begin();
  EXPECT_EQ(read.runs.at(offset), (std::vector<StepRun>{{0, 1, 101, 1}, {105, 5, 19, 1}}));
  EXPECT_EQ(tally.run, (StepRun{200, 10, 9, 2})); // and the last one
  EXPECT_EQ(tally.in_last_step, std::uint64_t{290} << 32 | 2);
}

TEST_F(LogWriterTest, BoundsTheRunsOfSteps) {
  auto log = openLog();
  auto tallies = talliesIn(*log);
  auto count = [&](std::uint32_t steps) {
    for (std::uint32_t step = 0; step < steps; ++step)
      for (std::uint32_t i = 0; i <= step % 2; ++i) {
        Event event = numbered(1, 0);
        event.step = step;
        EXPECT_TRUE(tallies->count(event));
      }
  };
  count(Tallies::kMaxRuns + 1000);
  const Log read = onlyLog();
  EXPECT_EQ(read.runs.begin()->second.size(), Tallies::kMaxRuns);
  EXPECT_EQ(read.tallies.begin()->second.steps, Tallies::kMaxRuns + 1000);
  EXPECT_EQ(read.dropped, 0u);
  // A child of fork has room of its own.
  const pid_t child = fork();
  if (child == 0) {
    log->resetInChild();
    tallies->resetInChild();
    count(6);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(logs().at(std::uint32_t(child)).runs.begin()->second.size(), 4u);
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

TEST_F(LogWriterTest, WhatIsTooManyHasNoId) {
  auto log = openLog();
  Interner interner(*log);
  interner.resetInChild();
  std::uint32_t without = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i)
    without += interner.string(std::to_string(i)) == 0;
  EXPECT_GT(without, 30'000u);
  EXPECT_LT(without, 45'000u);
  EXPECT_NE(interner.string("0"), 0u);
  const std::uint64_t size = onlyLog().size;
  EXPECT_EQ(interner.string("99999"), 0u);
  EXPECT_EQ(onlyLog().size, size);
  interner.resetInChild();
}

TEST_F(LogWriterTest, AForkedChildWritesItsOwnLog) {
  auto log = openLog();
  auto tallies = talliesIn(*log);
  tallies->count(numbered(1, 1));
  int status = inChild([&] {
    log->resetInChild();
    tallies->resetInChild();
    tallies->count(numbered(1, 2));
    tallies->count(numbered(1, 3));
  });
  EXPECT_EQ(status, 0);
  tallies->count(numbered(1, 4));

  auto all = logs();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at(getpid()).count(), 2u);
  EXPECT_EQ(all.at(getpid()).tallies.begin()->second.bytes, 5u);
  all.erase(getpid());
  const Log &child = all.begin()->second;
  EXPECT_EQ(child.count(), 2u);
  EXPECT_EQ(child.tallies.begin()->second.bytes, 5u);
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
    auto tallies = talliesIn(*log);
    for (std::uint64_t i = 0; i < 20'000; ++i)
      tallies->count(numbered(1, 2));
    for (std::uint32_t i = 2; i < 1002; ++i)
      tallies->count(distinct(i));
    kill(getpid(), SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  Log read = onlyLog();
  EXPECT_EQ(read.count(), 21'000u);
  EXPECT_EQ(read.tallies.begin()->second.count, 20'000u);
  EXPECT_EQ(read.tallies.begin()->second.bytes, 40'000u);
  EXPECT_EQ(read.ends, 0);
}

// In the midst of writing, on several threads: at most one event of each is half counted.
TEST_F(LogWriterTest, AWriterThatIsKilledLeavesAReadableLog) {
  constexpr std::uint32_t kThreads = 4;
  for (int round = 0; round < 10; ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
      auto log = openLog();
      auto tallies = talliesIn(*log);
      inThreads(kThreads, [&](std::uint32_t thread) {
        for (std::uint32_t i = 0;; ++i) {
          Event event = distinct(i / 100);
          event.thread = thread;
          tallies->count(event);
          if (i == 1000)
            (void)!write(ready[1], "x", 1);
        }
      });
    }
    char byte;
    for (std::uint32_t thread = 0; thread < kThreads; ++thread)
      EXPECT_EQ(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ready[0]);
    close(ready[1]);
    std::map<std::uint32_t, int> incomplete;
    for (const auto &[offset, tally] : onlyLog().tallies) {
      EXPECT_LE(tally.bytes, tally.count);
      EXPECT_LE(tally.count, tally.bytes + 1);
      incomplete[tally.first.thread] += tally.count != tally.bytes;
    }
    EXPECT_EQ(incomplete.size(), kThreads);
    for (auto [thread, count] : incomplete)
      EXPECT_LE(count, 1);
    for (const auto &entry : fs::directory_iterator(directory_))
      fs::remove(entry.path());
  }
}

TEST_F(LogWriterTest, AFullDiskIsCountedAndEndsNothing) {
  constexpr std::uint32_t kDifferent = 20'000;
  int status = inChild([&] {
    rlimit limit{2 * LogWriter::kSegmentSize, 2 * LogWriter::kSegmentSize};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto log = openLog();
    auto tallies = talliesIn(*log);
    for (int round = 0; round < 2; ++round)
      for (std::uint32_t i = 0; i < kDifferent; ++i)
        tallies->count(distinct(i));
  });
  EXPECT_EQ(status, 0);
  Log read = onlyLog();
  EXPECT_GT(read.tallies.size(), 5'000u);
  EXPECT_GT(read.dropped, 0u);
  EXPECT_EQ(read.count() + read.dropped, 2u * kDifferent);
}

// The run's board, as `devsan run` makes it.
class Board {
public:
  Board() {
    const int id = shmget(IPC_PRIVATE, sizeof(DevsanRunBoard), 0600);
    board_ = static_cast<DevsanRunBoard *>(shmat(id, nullptr, 0));
    shmctl(id, IPC_RMID, nullptr);
    board_->token = 0x1234;
    setenv(DEVSAN_RUN_BOARD, (std::to_string(id) + ":1234").c_str(), 1);
  }
  ~Board() {
    unsetenv(DEVSAN_RUN_BOARD);
    shmdt(board_);
  }
  DevsanRunBoard *operator->() const { return board_; }

private:
  DevsanRunBoard *board_;
};

// In a process of its own: the board is attached once in a process.
std::string saidBy(const std::function<void()> &work) {
  int ends[2];
  if (pipe(ends) != 0)
    return "no pipe";
  if (fork() == 0) {
    dup2(ends[1], STDERR_FILENO);
    work();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, std::size_t(got));
  close(ends[0]);
  wait(nullptr);
  return text;
}

TEST_F(LogWriterTest, ALogThatCannotBeMadeIsCountedAndSaidOnce) {
  const Board board;
  const auto work = [&] {
    static LogWriter log; // too large for the stack
    if (!log.open((directory_ / "missing").c_str(), 0) && !talliesIn(log)->count(numbered(1, 0)))
      dprintf(STDERR_FILENO, "ran on\n");
  };
  EXPECT_TRUE(std::regex_match(
      saidBy(work), std::regex("devsan: process [0-9]+ runs on unobserved: cannot write its event "
                               "log in .*/missing: No such file or directory\nran on\n")));
  EXPECT_EQ(saidBy(work), "ran on\n");
  EXPECT_EQ(board->losses[kDevsanNoLog].processes, 2u);
  EXPECT_EQ(board->losses[kDevsanNoLog].error, ENOENT);
  EXPECT_EQ(board->logs, 0u);
}

TEST_F(LogWriterTest, AForkedChildWithoutRoomIsCounted) {
  const Board board;
  saidBy([&] {
    static LogWriter log;
    log.open(directory_.c_str(), 0);
    const rlimit none = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &none);
    log.resetInChild();
    talliesIn(log)->count(numbered(1, 0));
  });
  EXPECT_EQ(board->logs, 1u);
  EXPECT_EQ(board->losses[kDevsanNoLog].processes, 1u);
  EXPECT_EQ(board->losses[kDevsanNoLog].error, EFBIG);
}

TEST_F(LogWriterTest, AProcessThatOutlivesItsRunIsSilent) {
  const Board board;
  board->is_over = 1;
  EXPECT_EQ(saidBy([&] {
              static LogWriter log;
              log.open(directory_.c_str(), 0);
            }),
            "");
  EXPECT_EQ(board->losses[kDevsanNoLog].processes, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(LogWriterTest, ABoardOfAnotherRunIsLeftAlone) {
  const Board board;
  board->token = 1;
  saidBy([&] {
    static LogWriter log;
    log.open(directory_.c_str(), 0);
  });
  EXPECT_EQ(board->logs, 0u);
}

TEST_F(LogWriterTest, ABoardInAFileIsSealed) {
  for (const bool is_sealed : {false, true}) {
    const int file = memfd_create("board", MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(file, sizeof(DevsanRunBoard)), 0);
    if (is_sealed)
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);
    setenv(DEVSAN_RUN_BOARD,
           ("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file) + ":0").c_str(), 1);
    saidBy([&] {
      static LogWriter log;
      log.open(directory_.c_str(), 0);
    });
    unsetenv(DEVSAN_RUN_BOARD);
    DevsanRunBoard board;
    EXPECT_EQ(pread(file, &board, sizeof board, 0), ssize_t(sizeof board));
    EXPECT_EQ(board.logs, is_sealed ? 1u : 0u);
    close(file);
  }
}

TEST_F(LogWriterTest, LogsAreTheirOwnersAlone) {
  saidBy([&] {
    umask(0777);
    static LogWriter log;
    log.open(directory_.c_str(), 0);
  });
  for (const auto &entry : std::filesystem::directory_iterator(directory_))
    EXPECT_EQ(entry.status().permissions(), std::filesystem::perms(0600));
  EXPECT_FALSE(std::filesystem::is_empty(directory_));
}

} // namespace
} // namespace devsan::runtime
