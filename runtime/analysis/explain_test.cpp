#include "runtime/analysis/explain.h"
#include "runtime/read/testing/log_builder.h"
#include "test/support/temporary_folder.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace devsan::runtime {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr EventKind kKinds[] = {
    EventKind::kCopy,       EventKind::kBlock,          EventKind::kRoundTrip,
    EventKind::kMismatch,   EventKind::kGatherCombined, EventKind::kStep,
    EventKind::kHostAccess, EventKind::kStreamRace,     EventKind::kStreamLifetime,
    EventKind::kLaunch,     EventKind::kEarlyAccess,    EventKind::kContext,
    EventKind::kAllocation, EventKind::kDeviceUse};

class ExplainTest : public ::testing::Test {
protected:
  Event event(EventKind kind) {
    Event event;
    event.kind = kind;
    event.from = cuda(0);
    event.to = cuda(1);
    event.stack = log_.stack({python("train", 3)});
    return event;
  }

  // Of a finding that is made of the event with that number.
  std::string explained(std::uint32_t entry) {
    return explained(std::vector<std::uint32_t>{entry});
  }
  std::string explained(const std::vector<std::uint32_t> &entries) {
    const std::filesystem::path path = temporary_.path() / "1-1.devsanlog";
    const std::vector<std::byte> bytes = log_.bytes();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    ObservedProcesses run;
    run.processes.emplace_back().log = path;
    run.symbols = log_.symbols();
    core::Finding finding;
    for (const std::uint32_t entry : entries)
      finding.events.push_back({.process = 0, .entry = entry});
    return explainEvents(run, finding);
  }

  LogBuilder log_;
  test::TemporaryFolder temporary_;
};

TEST_F(ExplainTest, EachKindOfEventHasWordsOfItsOwn) {
  for (const EventKind kind : kKinds)
    log_.add(event(kind));
  std::set<std::string> words;
  for (std::uint32_t i = 0; i < std::size(kKinds); ++i) {
    const std::string text = explained(i);
    EXPECT_THAT(text, AllOf(StartsWith("event: "), Not(StartsWith("event: event "))));
    words.insert(text.substr(0, text.find(" cuda")));
  }
  EXPECT_EQ(words.size(), std::size(kKinds));
}

TEST_F(ExplainTest, AWaitHasOneDeviceACopyTwo) {
  log_.add(event(EventKind::kBlock)).add(event(EventKind::kCopy), 3);
  EXPECT_THAT(explained(0),
              AllOf(StartsWith("event: wait cuda:0, once"), Not(HasSubstr("cuda:1"))));
  EXPECT_THAT(explained(1), StartsWith("event: copy cuda:0 → cuda:1, 3 times"));
}

TEST_F(ExplainTest, TellsOnlyTheFindingsEventsAndCountsThoseBeyondSixteen) {
  for (unsigned line = 1; line <= 20; ++line) {
    Event copy = event(EventKind::kCopy);
    copy.stack = log_.stack({python("train", line)});
    log_.add(copy);
  }
  EXPECT_THAT(explained(4), AllOf(HasSubstr(":5\n"), Not(HasSubstr(":4\n"))));
  std::vector<std::uint32_t> all(20);
  for (std::uint32_t i = 0; i < all.size(); ++i)
    all[i] = i;
  EXPECT_THAT(explained(all), HasSubstr("4 more events of the same finding"));
}

TEST_F(ExplainTest, NamesFlags) {
  Event copy = event(EventKind::kCopy);
  copy.flags = kBlocks | kPinned | kInBackward;
  log_.add(copy);
  EXPECT_THAT(explained(0), HasSubstr(", the host waited, pinned, in a backward"));
}

TEST_F(ExplainTest, TellsBytesAndWhereTheOtherPartOfAnEventWas) {
  Event trip = event(EventKind::kRoundTrip);
  trip.bytes = 2048;
  trip.related = log_.stack({python("earlier", 9)});
  log_.add(trip);
  EXPECT_THAT(explained(0), AllOf(HasSubstr(", 2.0 KB"), HasSubstr("related frames:\n"),
                                  HasSubstr("earlier at (outside):9\n")));
}

TEST_F(ExplainTest, TellsTheLevelsThatHeld) {
  Event copy = event(EventKind::kCopy);
  copy.flags = guardFlags(Level::kLog, Level::kAllow);
  log_.add(copy);
  EXPECT_THAT(explained(0), AllOf(HasSubstr(", copies: "), HasSubstr(", waits: ")));
}

TEST_F(ExplainTest, SaysWhatTheProgramMeant) {
  Event copy = event(EventKind::kCopy);
  copy.flags = kBlocks;
  copy.op = log_.string("aten::_local_scalar_dense");
  copy.stack = log_.stack({op("_local_scalar_dense"), op("where"), user("step", 5)});
  log_.add(copy);
  Event print = copy;
  print.stack = log_.stack(
      {op("to"), torch("at::print(std::ostream&, at::Tensor const&, long)"), user("step", 6)});
  log_.add(print);
  EXPECT_THAT(explained(0), HasSubstr("read as: LibTorch did it on the program's behalf"));
  EXPECT_THAT(explained(1), HasSubstr("read as: the program prints a tensor"));
}

TEST_F(ExplainTest, ALogThatCannotBeReadExplainsNothing) {
  ObservedProcesses run;
  run.processes.emplace_back().log = temporary_.path() / "absent";
  run.processes.emplace_back().log = temporary_.path() / "of nobody";
  core::Finding finding;
  finding.events.push_back({.process = 0, .entry = 0});
  EXPECT_EQ(explainEvents(run, finding), "");
}

} // namespace
} // namespace devsan::runtime
