#include "core/finding/fingerprint.h"
#include "runtime/analysis/analysis.h"
#include "runtime/analysis/trace.h"
#include "runtime/read/testing/log_builder.h"
#include "runtime/read/trace_clock.h"
#include "test/support/temporary_folder.h"

#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace devsan::runtime {
namespace {

using namespace testing;
namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kSecond = 1'000'000'000;
// Some time of day, in the window of three months that begins at kBase.
constexpr std::uint64_t kBase = 227 * 7'889'238 * kSecond;
constexpr std::uint64_t kStart = kBase + 1000 * kSecond;

// A log that began at kStart, when CLOCK_MONOTONIC was 5 s.
LogBuilder logOf(std::uint32_t pid) {
  LogBuilder log;
  log.traces = true;
  log.header.pid = pid;
  log.header.start_time_ns = kStart;
  const ClockRecord clocks{5 * kSecond, kStart};
  std::vector<std::byte> body(sizeof clocks);
  std::memcpy(body.data(), &clocks, sizeof clocks);
  log.record(RecordKind::kClock, body);
  return log;
}

// `end` and `call` in microseconds, from kStart.
Event wait(LogBuilder &log, std::uint64_t end, std::uint64_t call, unsigned line = 9) {
  Event event;
  event.kind = EventKind::kBlock;
  event.flags = kBlocks;
  event.from = cuda(0);
  event.thread = 7;
  event.time_ns = 5 * kSecond + end * 1000;
  event.call_ns = event.blocked_ns = call * 1000;
  event.op = log.string("aten::nonzero");
  event.stack = log.stack({python("train", line)});
  return event;
}

Event copy(LogBuilder &log, std::uint64_t end, std::uint64_t call, DeviceId from, DeviceId to) {
  Event event = wait(log, end, call, 20);
  event.kind = EventKind::kCopy;
  event.flags = kNonBlocking | guardFlags(Level::kAllow, Level::kAllow); // silent
  event.blocked_ns = 0;
  event.bytes = 4096;
  event.from = from;
  event.to = to;
  event.op = log.string("aten::copy_");
  event.stack = log.stack({python("load", 20)});
  return event;
}

Event step(std::uint64_t end, std::uint32_t number) {
  Event event;
  event.kind = EventKind::kStep;
  event.thread = 7;
  event.step = number;
  event.time_ns = 5 * kSecond + end * 1000;
  return event;
}

class TraceTest : public ::testing::Test {
protected:
  // The trace of a run with these processes.
  Json traceOf(std::initializer_list<LogBuilder> logs) {
    const fs::path folder = folderOf(logs);
    Analysis analysis = analyse(logsIn(folder).value(), settings());
    return written({&analysis.observed, 1}, analysis.findings);
  }

  AnalysisSettings settings(std::uint32_t first_process = 0) const {
    return {"/no/symbolizer", temporary_.path(), {}, true, first_process};
  }

  fs::path folderOf(std::initializer_list<LogBuilder> logs) {
    const fs::path folder = temporary_.path() / std::to_string(folders_++);
    fs::create_directory(folder);
    for (const LogBuilder &log : logs) {
      const std::vector<std::byte> bytes = log.bytes();
      std::ofstream(folder / (std::to_string(log.header.pid) + "-1.devsanlog"), std::ios::binary)
          .write(reinterpret_cast<const char *>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
    return folder;
  }

  Json written(std::span<const ObservedProcesses> runs, std::span<core::Finding> findings) {
    core::assignFingerprints(findings);
    std::ostringstream text;
    content_ = writeTrace(text, runs, findings, "python train.py");
    return Json::parse(text.str());
  }

  static std::vector<Json> events(const Json &trace, const std::string &phase) {
    std::vector<Json> result;
    for (const Json &event : trace["traceEvents"])
      if (event["ph"] == phase)
        result.push_back(event);
    return result;
  }

  static std::string nameOf(const Json &trace, std::uint64_t pid, const std::string &kind) {
    for (const Json &event : trace["traceEvents"])
      if (event["name"] == kind && event["pid"] == pid)
        return event["args"]["name"];
    return "";
  }

  test::TemporaryFolder temporary_;
  int folders_ = 0;
  TraceContent content_;
};

TEST(TraceClock, CountsFromTheStartOfTorchsWindow) {
  EXPECT_EQ(traceBase(kStart), kBase);
  EXPECT_EQ(traceBase(kBase), kBase);
  EXPECT_EQ(traceBase(kBase - 1), kBase - 7'889'238 * kSecond);
}

TEST(TraceClock, FollowsTheTimeOfDayWhereItIsSetAndNotTheErrorOfReadings) {
  const ClockRecord readings[] = {
      {10 * kSecond, kStart},
      {20 * kSecond, kStart + 10 * kSecond + 500}, // half a microsecond late
      {30 * kSecond, kStart + 3600 * kSecond},     // set by nearly an hour
  };
  const TraceClock clock(readings, 0, 0);
  EXPECT_EQ(clock.real(5 * kSecond), kStart - 5 * kSecond); // before the first reading
  EXPECT_EQ(clock.real(25 * kSecond), kStart + 15 * kSecond);
  EXPECT_EQ(clock.real(31 * kSecond), kStart + 3601 * kSecond);
  EXPECT_EQ(TraceClock({}, 3 * kSecond, kStart).real(4 * kSecond), kStart + kSecond);
}

TEST_F(TraceTest, AWaitIsASliceFromItsBeginToItsEnd) {
  LogBuilder log = logOf(100);
  const Json trace = traceOf({log.add(wait(log, 50, 20))});
  EXPECT_EQ(trace["baseTimeNanoseconds"], kBase);
  const auto slices = events(trace, "X");
  ASSERT_EQ(slices.size(), 1u);
  const Json &slice = slices[0];
  EXPECT_EQ(slice["ts"], 1000e6 + 30); // microseconds
  EXPECT_EQ(slice["dur"], 20.0);
  EXPECT_EQ(slice["pid"], 100);
  EXPECT_EQ(slice["name"], "aten::nonzero waits for cuda:0");
  EXPECT_EQ(slice["args"]["at"], "/src/train.py:9");
  EXPECT_EQ(slice["args"]["op"], "aten::nonzero");
  EXPECT_EQ(slice["args"]["blocked_us"], 20.0);
  EXPECT_THAT(slice["args"]["stack"].back().get<std::string>(), HasSubstr("/src/train.py:9"));
  EXPECT_EQ(nameOf(trace, 100, "process_name"), "python train.py");
  EXPECT_EQ(nameOf(trace, 100, "thread_name"), "DevSan: thread 7");
}

// What is silent is there too: users want to see all that is beside their profile.
TEST_F(TraceTest, FindingsSaySoAndTheRestIsThereToo) {
  LogBuilder log = logOf(100);
  log.add(wait(log, 50, 20)).add(copy(log, 100, 10, kHost, cuda(1)));
  const Json trace = traceOf({log});
  const auto slices = events(trace, "X");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["cat"], "wait,finding");
  const Json &finding = slices[0]["args"]["findings"][0];
  EXPECT_EQ(finding["rule"], "device-host-sync");
  EXPECT_EQ(finding["severity"], "note"); // happened once
  EXPECT_EQ(finding["fingerprint"].get<std::string>().size(), 16u);
  EXPECT_EQ(slices[1]["cat"], "copy");
  EXPECT_FALSE(slices[1]["args"].contains("findings"));
  EXPECT_EQ(slices[1]["name"], "aten::copy_ cpu → cuda:1");
  EXPECT_EQ(slices[1]["args"]["bytes"], 4096);
  EXPECT_EQ(slices[1]["args"]["non_blocking"], true);
}

TEST_F(TraceTest, ASuppressedFindingIsNone) {
  LogBuilder log = logOf(100);
  const fs::path folder = folderOf({log.add(wait(log, 50, 20))});
  AnalysisSettings all_suppressed = settings();
  all_suppressed.take_away = [](const core::Finding &) { return true; };
  Analysis analysis = analyse(logsIn(folder).value(), all_suppressed);
  const Json trace = written({&analysis.observed, 1}, analysis.findings);
  EXPECT_EQ(events(trace, "X").at(0)["cat"], "wait");
}

TEST_F(TraceTest, HoldsAllThatWasWrittenOneByOneAndCountsTheRest) {
  LogBuilder log = logOf(100);
  const Event event = wait(log, 50, 20);
  log.add(event, 100);
  log.tally(event).count += 11;
  const Json trace = traceOf({log});
  EXPECT_EQ(events(trace, "X").size(), 100u);
  EXPECT_EQ(content_.events, 100u);
  EXPECT_EQ(content_.left_out, 11u);
  EXPECT_EQ(trace["otherData"]["left_out"], 11);
}

// Viewers drop what crosses.
TEST_F(TraceTest, SlicesOfAThreadNest) {
  LogBuilder log = logOf(100);
  log.add(wait(log, 200, 100, 1)).add(wait(log, 150, 20, 2)).add(wait(log, 210, 50, 3));
  Event elsewhere = wait(log, 230, 60, 4);
  elsewhere.thread = 8;
  log.add(elsewhere);
  std::map<std::uint64_t, std::vector<std::pair<double, double>>> tracks;
  for (const Json &slice : events(traceOf({log}), "X")) {
    const double begin = slice["ts"].get<double>() - 1000e6;
    tracks[slice["tid"]].push_back({begin, begin + slice["dur"].get<double>()});
  }
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_THAT(tracks.begin()->second,
              ElementsAre(std::pair(100.0, 200.0), std::pair(130.0, 150.0),
                          std::pair(160.0, 200.0))); // the last ended at 210
  EXPECT_THAT(tracks.rbegin()->second, ElementsAre(std::pair(170.0, 230.0)));
}

TEST_F(TraceTest, StepsAreSlicesWithCounters) {
  LogBuilder log = logOf(100);
  Event first = copy(log, 50, 10, kHost, cuda(0)), second = wait(log, 150, 10);
  second.step = 1;
  log.add(first).add(step(100, 0)).add(second).add(step(200, 1));
  const Json trace = traceOf({log});
  std::vector<std::string> steps;
  for (const Json &slice : events(trace, "X"))
    if (slice["cat"] == "step")
      steps.push_back(slice["name"].get<std::string>() + " " + slice["ts"].dump() + " " +
                      slice["dur"].dump());
  EXPECT_THAT(steps, ElementsAre("step 0 1000000040.0 60.0", "step 1 1000000100.0 100.0"));
  std::vector<std::uint64_t> waits, bytes;
  for (const Json &counter : events(trace, "C")) {
    const Json &values = counter["args"];
    if (counter["name"] == "waits")
      waits.push_back(values["per step"]);
    else
      bytes.push_back(values["to devices"]);
  }
  EXPECT_THAT(waits, ElementsAre(0, 1, 0));
  EXPECT_THAT(bytes, ElementsAre(4096, 0, 0));
}

TEST_F(TraceTest, ProcessesAreNamedByTheirRanks) {
  LogBuilder zero = logOf(100), one = logOf(101), worker = logOf(102);
  zero.header.rank = 0;
  one.header.rank = worker.header.rank = 1;
  worker.header.parent_pid = 101;
  worker.header.start_time_ns += kSecond;
  for (LogBuilder *log : {&zero, &one, &worker})
    log->add(wait(*log, 50, 20));
  const Json trace = traceOf({zero, one, worker});
  EXPECT_EQ(nameOf(trace, 100, "process_name"), "rank 0");
  EXPECT_EQ(nameOf(trace, 101, "process_name"), "rank 1");
  EXPECT_EQ(nameOf(trace, 102, "process_name"), "worker of rank 1");
  // The finding is one, and all three say so.
  std::set<std::string> fingerprints;
  for (const Json &slice : events(trace, "X"))
    fingerprints.insert(slice["args"]["findings"].at(0)["fingerprint"]);
  EXPECT_EQ(fingerprints.size(), 1u);
}

TEST_F(TraceTest, ProcessesOfSeveralMachinesStayApart) {
  LogBuilder log = logOf(100), other = logOf(100);
  other.header.start_time_ns += 5 * kSecond;
  log.add(wait(log, 50, 20));
  other.add(copy(other, 60, 10, cuda(0), kHost));
  std::vector<ObservedProcesses> runs;
  std::vector<core::Finding> findings;
  for (const LogBuilder &one : {log, other}) {
    Analysis analysis =
        analyse(logsIn(folderOf({one})).value(), settings(static_cast<std::uint32_t>(runs.size())));
    runs.push_back(std::move(analysis.observed));
    findings.insert(findings.end(), analysis.findings.begin(), analysis.findings.end());
  }
  const Json trace = written(runs, findings);
  std::set<std::uint64_t> pids;
  for (const Json &slice : events(trace, "X")) {
    pids.insert(slice["pid"].get<std::uint64_t>());
    EXPECT_EQ(slice["args"].contains("findings"), slice["pid"] == 100) << slice;
  }
  EXPECT_EQ(pids.size(), 2u);
}

TEST_F(TraceTest, OtherEventsAreInstantsOfTheirThread) {
  LogBuilder log = logOf(100);
  Event event = wait(log, 50, 0);
  event.kind = EventKind::kMismatch;
  event.group = 77; // is no duration
  event.detail = log.string("Expected all tensors to be on the same device");
  event.operand = log.string("weight: float32 [10, 4]");
  const auto instants = events(traceOf({log.add(event)}), "i");
  ASSERT_EQ(instants.size(), 1u);
  EXPECT_EQ(instants[0]["s"], "t");
  EXPECT_EQ(instants[0]["ts"], 1000e6 + 50);
  EXPECT_EQ(instants[0]["args"]["operand"], "weight: float32 [10, 4]");
  EXPECT_EQ(instants[0]["args"]["findings"][0]["rule"], "device-mismatch");
}

TEST_F(TraceTest, EventsOfAnUnknownThreadHaveNoLength) {
  LogBuilder log = logOf(100);
  Event event = wait(log, 50, 20);
  event.thread = 0;
  const Json trace = traceOf({log.add(event)});
  EXPECT_TRUE(events(trace, "X").empty());
  EXPECT_EQ(events(trace, "i").size(), 1u);
}

TEST_F(TraceTest, WhatAProgramNamesIsText) {
  LogBuilder log = logOf(100);
  Event event = wait(log, 50, 20);
  event.kind = EventKind::kMismatch;
  event.detail = log.string(std::string("</script>\x01\x1b[31m\xff\xfe\"\\\n", 21) +
                            std::string(1 << 20, 'x'));
  log.add(event);
  const fs::path folder = folderOf({log});
  Analysis analysis = analyse(logsIn(folder).value(), settings());
  std::ostringstream text;
  writeTrace(text, {&analysis.observed, 1}, analysis.findings, "</script>\x02");
  EXPECT_LT(text.str().size(), 20'000u);
  EXPECT_EQ(text.str().find('<'), std::string::npos);
  for (const char c : text.str())
    ASSERT_TRUE(static_cast<unsigned char>(c) >= ' ' || c == '\n');
  const Json trace = Json::parse(text.str());
  const std::string detail = events(trace, "i").at(0)["args"]["detail"];
  EXPECT_EQ(detail.substr(0, 10), "</script>\x01");
  EXPECT_EQ(trace["otherData"]["subject"], "</script>\x02");
}

TEST_F(TraceTest, ARunWithoutLogsIsAnEmptyTrace) {
  EXPECT_TRUE(written({}, {})["traceEvents"].empty());
}

} // namespace
} // namespace devsan::runtime
