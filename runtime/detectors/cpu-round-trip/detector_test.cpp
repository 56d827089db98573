#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectCpuRoundTrip(const Recording &recording);

namespace {

using namespace testing;

Event roundTrip(LogBuilder &log) {
  Event event;
  event.kind = EventKind::kRoundTrip;
  event.from = kHost;
  event.to = cuda(0);
  event.origin = cuda(1);
  event.bytes = 400;
  event.related = log.stack({op("cpu"), user("cumsum", 5), user("main", 20)});
  event.stack = log.stack({op("to_device"), user("cumsum", 6), user("main", 20)});
  return event;
}

TEST(CpuRoundTrip, FlagsBothEnds) {
  LogBuilder log;
  log.add(roundTrip(log), 3);
  const auto findings = detectCpuRoundTrip(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "data of cuda:1 went to the host, and 400 B of it, or made from "
                                 "it, came back to cuda:0 in aten::to, 3 times (1.2 KB)");
  EXPECT_EQ(findings[0].from, "cuda:1");
  EXPECT_EQ(findings[0].to, "cuda:0");
  EXPECT_EQ(findings[0].locations[0].line, 6u);
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].location.line, 5u);
  EXPECT_EQ(findings[0].related[0].message, "left cuda:1 here");
}

TEST(CpuRoundTrip, IsSilentForPlainCopies) {
  LogBuilder log;
  Event event = roundTrip(log);
  event.kind = EventKind::kCopy;
  log.add(event);
  EXPECT_TRUE(detectCpuRoundTrip(replay(log)).empty());
}

TEST(CpuRoundTrip, IsSilentInsideAllowTransfer) {
  LogBuilder log;
  Event event = roundTrip(log);
  event.flags = kTransferAllowed;
  log.add(event);
  EXPECT_TRUE(detectCpuRoundTrip(replay(log)).empty());
}

} // namespace
} // namespace devsan::runtime
