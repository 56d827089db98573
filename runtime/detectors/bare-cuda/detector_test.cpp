#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectBareCuda(const Recording &recording);

namespace {

using namespace testing;

const TestFrame kCudaMethod{"/src/train", "at::Tensor::cuda() const",
                            "/v/torch/include/ATen/core/TensorBody.h", 1};

Event returnsToDevice(LogBuilder &log, int to) {
  Event event;
  event.kind = EventKind::kRoundTrip;
  event.from = kHost;
  event.to = cuda(to);
  event.origin = cuda(1);
  event.bytes = 400;
  event.related = log.stack({op("cpu"), user("cumsum", 5)});
  event.stack = log.stack({op("to_dtype_layout"), user("cumsum", 6)});
  return event;
}

Event peerCopy(LogBuilder &log, StackId stack, int to = 0) {
  Event event;
  event.kind = EventKind::kCopy;
  event.from = cuda(1 - to);
  event.to = cuda(to);
  event.current_device = std::int8_t(to);
  event.bytes = 400;
  event.stack = stack;
  return event;
}

TEST(BareCuda, FlagsDataThatComesBackElsewhere) {
  LogBuilder log;
  log.add(returnsToDevice(log, 0), 2);
  const auto findings = detectBareCuda(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(
      findings[0].message,
      "a tensor whose data came from cuda:1 was moved to cuda:0 in aten::to, 2 times (800 B)");
  EXPECT_EQ(findings[0].locations[0].line, 6u);
  EXPECT_EQ(findings[0].related[0].location.line, 5u);
}

TEST(BareCuda, FlagsDotCudaOnATensorOfAnotherGpu) {
  LogBuilder log;
  log.add(peerCopy(log, log.stack({op("to_dtype_layout"), kCudaMethod, user("main", 6)})));
  EXPECT_EQ(detectBareCuda(replay(log)).size(), 1u);
}

TEST(BareCuda, KnowsTheCurrentDevice) {
  LogBuilder log;
  const StackId bare = log.stack({op("to_dtype_layout"), kCudaMethod, user("main", 6)});
  log.add(peerCopy(log, bare, 1));
  EXPECT_EQ(detectBareCuda(replay(log)).size(), 1u);
  LogBuilder elsewhere;
  Event event = peerCopy(elsewhere,
                         elsewhere.stack({op("to_dtype_layout"), kCudaMethod, user("main", 6)}), 1);
  event.current_device = 0;
  elsewhere.add(event);
  EXPECT_TRUE(detectBareCuda(replay(elsewhere)).empty());
}

TEST(BareCuda, IsSilentWhereDataComesHome) {
  LogBuilder log;
  log.add(returnsToDevice(log, 1));
  EXPECT_TRUE(detectBareCuda(replay(log)).empty());
}

TEST(BareCuda, IsSilentWhereTheCallNamesTheDevice) {
  LogBuilder log;
  log.add(peerCopy(log, log.stack({op("to_device"), user("main", 6)})));
  EXPECT_TRUE(detectBareCuda(replay(log)).empty());
}

TEST(BareCuda, IsSilentForUploads) {
  LogBuilder log;
  Event event = peerCopy(log, log.stack({op("to_dtype_layout"), kCudaMethod, user("main", 6)}));
  event.from = kHost;
  log.add(event);
  EXPECT_TRUE(detectBareCuda(replay(log)).empty());
}

TEST(BareCuda, IsSilentInsideAllowTransfer) {
  LogBuilder log;
  Event event = returnsToDevice(log, 0);
  event.flags = kTransferAllowed;
  log.add(event);
  EXPECT_TRUE(detectBareCuda(replay(log)).empty());
}

} // namespace
} // namespace devsan::runtime
