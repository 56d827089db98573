#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectDisallowedTransfer(const Recording &recording);

namespace {

using namespace testing;

std::vector<core::Finding> detect(Level level, std::initializer_list<TestFrame> frames,
                                  std::uint32_t flags = 0) {
  LogBuilder log;
  Event event;
  event.kind = EventKind::kCopy;
  event.from = cuda(1);
  event.to = kHost;
  event.bytes = 4;
  event.flags = flags | guardFlags(level, Level::kInherit);
  event.stack = log.stack(frames);
  return detectDisallowedTransfer(replay(log.add(event, 2)));
}

TEST(DisallowedTransfer, FlagsWhatTheProgramSpellsOut) {
  const auto findings = detect(Level::kDisallowExplicit, {op("cpu"), user("main", 5)});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
  EXPECT_EQ(findings[0].message,
            "copied 4 B cuda:1 → cpu in aten::cpu where such copies are disallowed, 2 times (8 B)");
  const auto logged = detect(Level::kLogExplicit, {op("cpu"), user("main", 5)});
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(logged[0].severity, core::Severity::kWarning);
}

TEST(DisallowedTransfer, IsSilentAtOtherLevelsAndForOtherIntents) {
  for (Level level : {Level::kInherit, Level::kAllow, Level::kLog, Level::kDisallow})
    EXPECT_TRUE(detect(level, {op("cpu"), user("main", 5)}).empty()) << int(level);
  EXPECT_TRUE(detect(Level::kDisallowExplicit, {op("index_Tensor"), user("main", 5)}).empty());
  EXPECT_TRUE(detect(Level::kDisallowExplicit, {op("item"), user("main", 5)}).empty());
  EXPECT_TRUE(detect(Level::kDisallowExplicit, {op("cpu"), user("main", 5)}, kWarmup).empty());
}

} // namespace
} // namespace devsan::runtime
