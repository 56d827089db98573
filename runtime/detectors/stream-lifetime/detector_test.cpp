#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectStreamLifetime(const Recording &recording);

namespace {

using namespace testing;

Event released(LogBuilder &log) {
  Event event;
  event.kind = EventKind::kStreamLifetime;
  event.from = event.to = cuda(0);
  event.bytes = 4096;
  event.op = log.string("aten::sum");
  event.detail = log.string("35 0");
  event.stack = log.stack({op("sum"), user("prefetch", 9)});
  event.related = log.stack({op("empty_memory_format"), op("ones"), user("main", 14)});
  return event;
}

TEST(StreamLifetime, NamesTheUseAndTheNextAllocation) {
  LogBuilder log;
  log.add(released(log), 2);
  const auto findings = detectStreamLifetime(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-stream-lifetime");
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
  EXPECT_EQ(findings[0].message,
            "the memory that aten::sum reads on stream 35 of cuda:0 was released without "
            "record_stream and given out again on the default stream of cuda:0 while that may "
            "still run, 2 times (4.1 KB)");
  EXPECT_EQ(findings[0].locations[0].line, 9u);
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].location.line, 14u);
}

// The stub that launches it is no place of the program's.
TEST(StreamLifetime, NamesTheKernelAndItsLaunch) {
  LogBuilder log;
  Event event = released(log);
  event.op = log.string("void ns::scale<float, 4>(float*, float, int)");
  event.detail = log.string("94644851065104 0");
  event.stack = log.stack({user("ns::scale<float, 4>", 3), user("launch", 9)});
  const auto findings = detectStreamLifetime(replay(log.add(event)));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].op, "ns::scale");
  EXPECT_EQ(findings[0].locations[0].line, 9u);
  EXPECT_NE(findings[0].message.find("the memory that ns::scale reads on a stream that the program "
                                     "made on cuda:0 was released"),
            std::string::npos)
      << findings[0].message;
}

TEST(StreamLifetime, IsSilentOnOtherEvents) {
  LogBuilder log;
  Event event = released(log);
  event.kind = EventKind::kStreamRace;
  log.add(event);
  EXPECT_TRUE(detectStreamLifetime(replay(log)).empty());
}

} // namespace
} // namespace devsan::runtime
