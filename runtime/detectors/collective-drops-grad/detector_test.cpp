#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectCollectiveDropsGrad(const Recording &recording);

namespace {

using namespace testing;

TEST(CollectiveDropsGrad, FlagsTheCombination) {
  LogBuilder log;
  Event event;
  event.kind = EventKind::kGatherCombined;
  event.from = cuda(1);
  event.related = log.stack({op("_allgather"), user("gather", 5)});
  event.stack = log.stack({op("cat"), user("step", 9)});
  log.add(event, 2);
  const auto findings = detectCollectiveDropsGrad(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
  EXPECT_EQ(findings[0].message,
            "gathered tensors were combined in aten::cat without this rank's own tensor, which "
            "carries the graph, 2 times: no gradient flows back");
  EXPECT_EQ(findings[0].locations[0].line, 9u);
  EXPECT_EQ(findings[0].related[0].location.line, 5u);
}

TEST(CollectiveDropsGrad, IsSilentForOtherEvents) {
  LogBuilder log;
  Event event;
  event.kind = EventKind::kCopy;
  event.stack = log.stack({op("cat"), user("step", 9)});
  log.add(event);
  EXPECT_TRUE(detectCollectiveDropsGrad(replay(log)).empty());
}

} // namespace
} // namespace devsan::runtime
