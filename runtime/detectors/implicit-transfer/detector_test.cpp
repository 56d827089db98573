#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectImplicitTransfer(const Recording &recording);

namespace {

using namespace testing;

Event upload(LogBuilder &log, StackId stack) {
  Event event;
  event.kind = EventKind::kCopy;
  event.from = kHost;
  event.to = cuda(1);
  event.bytes = 4;
  event.op = log.string("aten::copy_");
  event.stack = stack;
  return event;
}

TEST(ImplicitTransfer, FlagsACopyInsideAnotherOperator) {
  LogBuilder log;
  log.add(upload(log, log.stack({op("copy_"), op("to_device"), op("where_self"), user("divide", 7),
                                 user("main", 9)})),
          100);
  const auto findings = detectImplicitTransfer(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "device-implicit-transfer");
  EXPECT_EQ(findings[0].severity, core::Severity::kWarning);
  EXPECT_EQ(
      findings[0].message,
      "copied 4 B cpu → cuda:1 in aten::where although nothing asked for it, 100 times (400 B)");
  EXPECT_EQ(findings[0].count, 100u);
  EXPECT_EQ(findings[0].bytes, 400u);
  EXPECT_EQ(findings[0].locations[0].line, 7u);
}

TEST(ImplicitTransfer, SaysWhereSizesDiffer) {
  LogBuilder log;
  Event event = upload(log, log.stack({op("index_Tensor"), user("main", 1)}));
  log.add(event);
  event.bytes = 512;
  log.add(event);
  EXPECT_EQ(detectImplicitTransfer(replay(log)).at(0).message,
            "copied up to 512 B cpu → cuda:1 in aten::index although nothing asked for it, 2 times "
            "(516 B)");
}

TEST(ImplicitTransfer, SaysWhatATensorIsBuiltFrom) {
  LogBuilder log;
  Event event = upload(
      log, log.stack({op("to_device"), torch("torch::autograd::THPVariable_tensor(_object*)"),
                      python("main", 3)}));
  log.add(event);
  std::swap(event.from, event.to);
  log.add(event);
  const auto findings = detectImplicitTransfer(replay(log));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].message, "copied 4 B cpu → cuda:1 in aten::to for a tensor that is built "
                                 "from host values, once (4 B)");
  EXPECT_EQ(findings[1].message, "copied 4 B cuda:1 → cpu in aten::to for a tensor that is built "
                                 "from one on cuda:1, once (4 B)");
}

TEST(ImplicitTransfer, NamesTheAutogradNode) {
  LogBuilder log;
  Event event = upload(
      log, log.stack({op("_index_put_impl_"), torch("torch::autograd::Engine::thread_main()")}));
  event.flags = kInBackward;
  event.detail = log.string("IndexBackward0");
  log.add(event);
  EXPECT_EQ(detectImplicitTransfer(replay(log)).at(0).message,
            "copied 4 B cpu → cuda:1 in aten::_index_put_impl_ (backward: IndexBackward0) although "
            "nothing asked "
            "for it, once (4 B)");
}

TEST(ImplicitTransfer, KeepsPlacesApartAndDevicesTogether) {
  LogBuilder log;
  Event event = upload(log, log.stack({op("add_Tensor"), user("main", 1)}));
  log.add(event);
  event.to = cuda(0);
  log.add(event);
  event.stack = log.stack({op("add_Tensor"), user("main", 2)});
  log.add(event);
  const auto findings = detectImplicitTransfer(replay(log));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].message, "copied 4 B cpu → cuda:0 and cuda:1 in aten::add although nothing "
                                 "asked for it, 2 times (8 B)");
}

TEST(ImplicitTransfer, OneCauseIsOneFindingWithItsPlaces) {
  LogBuilder log;
  Event event = upload(log, log.stack({op("index_Tensor"), user("main", 3)}));
  event.flags = kBlocks;
  event.related = log.stack({user("shuffle", 1), user("main", 2)});
  log.add(event);
  event.stack = log.stack({op("add_Tensor"), user("main", 4)});
  log.add(event);
  event.related = 0; // not every origin is known
  log.add(event);
  event.stack = log.stack({op("add_Tensor"), user("main", 9)});
  log.add(event);
  const auto findings = detectImplicitTransfer(replay(log));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].message, "copied 4 B cpu → cuda:1 although nothing asked for it, 3 times "
                                 "(12 B), at 2 places; the host waited for it");
  ASSERT_EQ(findings[0].locations.size(), 2u);
  EXPECT_EQ(findings[0].locations[0].line, 3u);
  EXPECT_EQ(findings[0].locations[1].line, 4u);
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].location.line, 1u);
  EXPECT_EQ(findings[0].related[0].message, "made on the host here");
  EXPECT_TRUE(findings[0].waits);
}

TEST(ImplicitTransfer, JoinsProcesses) {
  LogBuilder log;
  log.header.rank = 0;
  log.add(upload(log, log.stack({op("add_Tensor"), user("main", 1)})));
  LogBuilder other;
  other.header.rank = 1;
  other.add(upload(other, other.stack({op("add_Tensor"), user("main", 1)})));
  Recording recording{SourcePaths("/src")};
  for (const LogBuilder *one : {&log, &other})
    recording.add(parseLog(one->bytes(), "x").value(), one->symbols());
  const auto findings = detectImplicitTransfer(recording);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].count, 2u);
  EXPECT_EQ(findings[0].rank, std::nullopt);
}

TEST(ImplicitTransfer, IsSilentWhereTheCopyWasAskedFor) {
  LogBuilder log;
  log.add(upload(log, log.stack({op("copy_"), op("to_device"), user("main", 1)})));
  EXPECT_TRUE(detectImplicitTransfer(replay(log)).empty());
}

TEST(ImplicitTransfer, ATensorOfHostValuesIsANoteUntilItRepeats) {
  LogBuilder log;
  const Event event = upload(
      log, log.stack({op("to_device"),
                      torch("torch::autograd::THPVariable_tensor(_object*, _object*, _object*)"),
                      python("main", 3)}));
  log.add(event);
  auto findings = detectImplicitTransfer(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kNote);
  log.add(event, 2);
  findings = detectImplicitTransfer(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kWarning);
  EXPECT_EQ(findings[0].message, "copied 4 B cpu → cuda:1 in aten::to for a tensor that is built "
                                 "from host values, 3 times (12 B)");
  EXPECT_EQ(
      findings[0].remedy,
      "hoist it out of the loop where it stays the same; where it is new each time, make it on "
      "the host and copy it with non_blocking=True: CUDA takes up to 64 KiB along with its "
      "command, pinned or not, and the host goes on");
}

TEST(ImplicitTransfer, LeavesScalarReadsToHostSync) {
  LogBuilder log;
  Event event = upload(log, log.stack({op("_local_scalar_dense"), op("item"),
                                       op("repeat_interleave"), user("main", 1)}));
  std::swap(event.from, event.to);
  log.add(event);
  EXPECT_TRUE(detectImplicitTransfer(replay(log)).empty());
}

TEST(ImplicitTransfer, IsSilentWithinOneDevice) {
  LogBuilder log;
  Event event = upload(log, log.stack({op("copy_"), op("add_Tensor"), user("main", 1)}));
  event.from = event.to;
  log.add(event);
  EXPECT_TRUE(detectImplicitTransfer(replay(log)).empty());
}

TEST(ImplicitTransfer, IsSilentInsideAllowTransfer) {
  LogBuilder log;
  Event event = upload(log, log.stack({op("add_Tensor"), user("main", 1)}));
  event.flags = kTransferAllowed;
  log.add(event);
  EXPECT_TRUE(detectImplicitTransfer(replay(log)).empty());
}

TEST(ImplicitTransfer, AnErrorWhereCopiesAreDisallowed) {
  LogBuilder log;
  Event event = upload(log, log.stack({op("index_Tensor"), user("main", 1)}));
  event.flags |= guardFlags(Level::kDisallow, Level::kInherit);
  const auto findings = detectImplicitTransfer(replay(log.add(event)));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
  EXPECT_EQ(findings[0].message,
            "copied 4 B cpu → cuda:1 in aten::index although nothing asked for "
            "it, where such copies are disallowed, once (4 B)");
}

} // namespace
} // namespace devsan::runtime
