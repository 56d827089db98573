#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectHostAccess(const Recording &recording);

namespace {

using namespace testing;

Event access(StackId stack, std::uint32_t flags = 0) {
  Event event;
  event.kind = EventKind::kHostAccess;
  event.from = cuda(1);
  event.bytes = 16;
  event.stack = stack;
  event.flags = flags;
  return event;
}

TEST(HostAccess, NamesTheDeviceTheSizeAndTheOrigin) {
  LogBuilder log;
  Event read = access(log.stack({user("best", 7), user("main", 9)}), kOriginIsMove);
  read.related = log.stack({op("to_device"), user("load", 3)});
  log.add(read, 2);
  const auto findings = detectHostAccess(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-host-access");
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
  EXPECT_EQ(findings[0].message,
            "host code reads the memory of a tensor on cuda:1 (16 B), 2 times");
  EXPECT_EQ(findings[0].locations[0].line, 7u);
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].message, "moved to cuda:1 here");
}

TEST(HostAccess, TellsWritesAndFreedMemory) {
  LogBuilder log;
  log.add(access(log.stack({user("fill", 7)}), kHostWrites | kFreedMemory));
  const auto findings = detectHostAccess(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "host code writes to freed memory of cuda:1, once");
  EXPECT_TRUE(findings[0].related.empty());
}

TEST(HostAccess, OfAWorkerStandsAtTheOrigin) {
  LogBuilder log;
  Event read = access(log.stack({op("sum")}));
  read.related = log.stack({op("to_device"), user("load", 3)});
  log.add(read, 2);
  const auto findings = detectHostAccess(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].locations[0].line, 3u);
  EXPECT_TRUE(findings[0].related.empty());
}

TEST(HostAccess, LeavesOtherEventsAlone) {
  LogBuilder log;
  Event copy = access(log.stack({user("main", 1)}));
  copy.kind = EventKind::kCopy;
  log.add(copy);
  EXPECT_TRUE(detectHostAccess(replay(log)).empty());
}

} // namespace
} // namespace devsan::runtime
