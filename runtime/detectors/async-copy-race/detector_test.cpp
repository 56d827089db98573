#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectAsyncCopyRace(const Recording &recording);

namespace {

using namespace testing;

Event earlyAccess(LogBuilder &log) {
  Event event;
  event.kind = EventKind::kEarlyAccess;
  event.from = cuda(1);
  event.to = kHost;
  event.bytes = 4096;
  event.detail = log.string("0");
  event.stack = log.stack({op("sum"), user("main", 12)});
  event.related = log.stack({op("copy_"), op("to_dtype_layout"), user("main", 11)});
  return event;
}

TEST(AsyncCopyRace, NamesTheAccessAndTheCopy) {
  LogBuilder log;
  log.add(earlyAccess(log), 2);
  const auto findings = detectAsyncCopyRace(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-async-copy-race");
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
  EXPECT_EQ(findings[0].message,
            "the host reads the result of a non_blocking copy on the default stream of cuda:1 "
            "before anything waited for it, 2 times (4.1 KB each)");
  EXPECT_EQ(findings[0].locations[0].line, 12u);
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].location.line, 11u);
}

TEST(AsyncCopyRace, TellsWritesFromReads) {
  LogBuilder log;
  Event event = earlyAccess(log);
  event.flags = kLaterWrites;
  log.add(event);
  EXPECT_EQ(detectAsyncCopyRace(replay(log)).at(0).message,
            "the host writes to the result of a non_blocking copy on the default stream of cuda:1 "
            "before anything waited for it, once (4.1 KB)");
}

TEST(AsyncCopyRace, OfAWorkerStandsWhereTheProgramIsKnown) {
  LogBuilder alone;
  Event worker = earlyAccess(alone);
  worker.stack = alone.stack({op("sum")});
  Event other = worker;
  other.stack = alone.stack({op("sum_out")});
  alone.add(worker).add(other);
  auto findings = detectAsyncCopyRace(replay(alone));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].locations[0].line, 11u);
  EXPECT_EQ(findings[0].count, 2u);
  EXPECT_TRUE(findings[0].related.empty());

  LogBuilder both;
  worker = earlyAccess(both);
  worker.stack = both.stack({op("sum")});
  both.add(worker).add(earlyAccess(both));
  findings = detectAsyncCopyRace(replay(both));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].locations[0].line, 12u);
  EXPECT_EQ(findings[0].related.size(), 1u);
}

TEST(AsyncCopyRace, IsSilentOnOtherEvents) {
  LogBuilder log;
  Event event = earlyAccess(log);
  event.kind = EventKind::kCopy;
  log.add(event);
  EXPECT_TRUE(detectAsyncCopyRace(replay(log)).empty());
}

} // namespace
} // namespace devsan::runtime
