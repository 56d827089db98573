#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectStreamRace(const Recording &recording);

namespace {

using namespace testing;

Event race(LogBuilder &log, std::uint32_t flags) {
  Event event;
  event.kind = EventKind::kStreamRace;
  event.from = event.to = cuda(1);
  event.bytes = 4096;
  event.op = log.string("aten::sum");
  event.operand = log.string("aten::uniform_");
  event.detail = log.string("0 35");
  event.stack = log.stack({op("sum"), user("prefetch", 9)});
  event.related = log.stack({op("rand"), user("main", 4)});
  event.flags = flags;
  return event;
}

TEST(StreamRace, NamesBothUsesAndTheirPlaces) {
  LogBuilder log;
  log.add(race(log, kEarlierWrites), 3);
  const auto findings = detectStreamRace(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-stream-race");
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
  EXPECT_EQ(findings[0].message,
            "aten::sum reads on stream 35 of cuda:1 what aten::rand writes on the default stream "
            "of cuda:1, and no event or wait orders them, 3 times (4.1 KB)");
  EXPECT_EQ(findings[0].locations[0].line, 9u);
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].location.line, 4u);
  EXPECT_EQ(findings[0].related[0].message, "written on the default stream of cuda:1 here");
}

TEST(StreamRace, SaysWhoWrites) {
  LogBuilder log;
  Event event = race(log, kLaterWrites);
  event.related = 0;
  log.add(event);
  const auto findings = detectStreamRace(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "aten::sum writes on stream 35 of cuda:1 what aten::uniform_ reads on the default "
            "stream of cuda:1, and no event or wait orders them, once (4.1 KB)");
  EXPECT_TRUE(findings[0].related.empty());
}

TEST(StreamRace, KeepsPlacesApart) {
  LogBuilder log;
  Event event = race(log, kEarlierWrites);
  log.add(event);
  event.stack = log.stack({op("sum"), user("prefetch", 10)});
  log.add(event);
  EXPECT_EQ(detectStreamRace(replay(log)).size(), 2u);
}

TEST(StreamRace, IsSilentOnOtherEvents) {
  LogBuilder log;
  Event event = race(log, kEarlierWrites);
  event.kind = EventKind::kStreamLifetime;
  log.add(event);
  EXPECT_TRUE(detectStreamRace(replay(log)).empty());
}

} // namespace
} // namespace devsan::runtime
