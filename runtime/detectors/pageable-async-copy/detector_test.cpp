// The rules that could report a copy are tested together: exactly one of them answers.
#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

using namespace testing;

constexpr std::uint32_t kPageableAsync = kBlocks | kNonBlocking;

Event copyOf(std::uint64_t bytes, std::uint32_t flags, DeviceId from, DeviceId to) {
  Event event;
  event.kind = EventKind::kCopy;
  event.bytes = bytes;
  event.flags = flags;
  event.from = from;
  event.to = to;
  return event;
}

std::vector<core::Finding> findingsOf(Event event, int times = 1) {
  LogBuilder log;
  event.stack = log.stack({op("copy_"), op("_to_copy"), op("to_device"), user("step", 9)});
  event.related = log.stack({op("empty"), user("load", 4)});
  log.add(event, times);
  return detectAll(replay(log));
}

TEST(PageableAsyncCopy, IsFlaggedOnTheWayToTheDevice) {
  const auto findings = findingsOf(copyOf(4000, kPageableAsync, kHost, cuda(1)), 3);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-pageable-async-copy");
  EXPECT_EQ(findings[0].severity, core::Severity::kWarning);
  EXPECT_EQ(findings[0].message,
            "non_blocking=true from pageable memory: the host waited for cuda:1 to take 4.0 KB in "
            "aten::to, 3 times (12.0 KB)");
  EXPECT_EQ(findings[0].locations[0].line, 9u);
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].location.line, 4u);
}

TEST(PageableAsyncCopy, IsFlaggedOnTheWayToTheHost) {
  const auto findings = findingsOf(copyOf(4000, kPageableAsync, cuda(1), kHost));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "non_blocking=true into pageable memory: the host waited for "
                                 "cuda:1 to give 4.0 KB in aten::to, once (4.0 KB)");
  EXPECT_NE(findings[0].remedy.find("into pinned memory"), std::string::npos);
}

constexpr std::uint32_t kNothingMayBlock = guardFlags(Level::kInherit, Level::kDisallowExplicit);

TEST(PageableAsyncCopy, IsAnErrorOfHostSyncWhereNothingMayBlock) {
  const auto findings = findingsOf(copyOf(4000, kPageableAsync | kNothingMayBlock, kHost, cuda(1)));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-host-sync");
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
}

TEST(PageableAsyncCopy, IsHostSyncWhereTheFlagIsNotSet) {
  const auto findings = findingsOf(copyOf(4000, kBlocks, kHost, cuda(1)), 2);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-host-sync");
}

TEST(PageableAsyncCopy, IsSilentFromPinnedMemoryAndWhereSyncIsAllowed) {
  EXPECT_TRUE(findingsOf(copyOf(4000, kNonBlocking | kPinned, kHost, cuda(1)), 3).empty());
  EXPECT_TRUE(findingsOf(copyOf(4000, kPageableAsync | guardFlags(Level::kInherit, Level::kAllow),
                                kHost, cuda(1)),
                         3)
                  .empty());
}

TEST(PageableAsyncCopy, IsSilentForModulesAndForTorchsOwnChoice) {
  LogBuilder log;
  Event event = copyOf(4000, kPageableAsync, kHost, cuda(1));
  event.stack =
      log.stack({op("copy_"), op("to_device"),
                 python("Module._apply", 9, "/x/site-packages/torch/nn/modules/module.py"),
                 python("main", 2)});
  log.add(event, 3);
  EXPECT_TRUE(detectAll(replay(log)).empty());
  event.stack =
      log.stack({op("copy_"), op("to_device"),
                 python("_recursive_to", 9, "/x/site-packages/torch/distributed/utils.py"),
                 python("main", 2)});
  log.add(event, 3);
  for (const core::Finding &finding : detectAll(replay(log)))
    EXPECT_NE(finding.rule, "device-pageable-async-copy");
}

} // namespace
} // namespace devsan::runtime
