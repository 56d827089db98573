#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
std::vector<core::Finding> detectHostSync(const Recording &recording);

namespace {

using namespace testing;

Event read(LogBuilder &log, std::initializer_list<TestFrame> frames) {
  Event event;
  event.kind = EventKind::kCopy;
  event.flags = kBlocks;
  event.from = cuda(1);
  event.to = kHost;
  event.bytes = 4;
  event.blocked_ns = 1000;
  event.stack = log.stack(frames);
  return event;
}

Event upload(LogBuilder &log, std::initializer_list<TestFrame> frames) {
  Event event = read(log, frames);
  std::swap(event.from, event.to);
  return event;
}

TEST(HostSync, ASpelledOutReadIsANote) {
  LogBuilder log;
  log.add(read(log, {op("_local_scalar_dense"), op("item"), user("main", 5)}));
  const auto findings = detectHostSync(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kNote);
  EXPECT_EQ(findings[0].message,
            "the host waited for cuda:1 in aten::item, once (4 B cuda:1 → cpu, 1.0 µs)");
}

TEST(HostSync, ARepeatedReadIsAWarning) {
  LogBuilder log;
  log.add(read(log, {op("item"), user("main", 5)}), 100);
  const auto findings = detectHostSync(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kWarning);
  EXPECT_EQ(findings[0].count, 100u);
  EXPECT_EQ(findings[0].blocked_ns, 100000u);
  EXPECT_EQ(findings[0].locations[0].line, 5u);
}

TEST(HostSync, AWaitThatNobodySpelledOutIsAWarningAtOnceUnlessStepsShowThatItIsOne) {
  LogBuilder log;
  Event event;
  event.kind = EventKind::kBlock;
  event.flags = kBlocks;
  event.from = cuda(0);
  event.stack = log.stack({op("nonzero"), user("main", 5)});
  log.add(event);
  auto findings = detectHostSync(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kWarning);
  EXPECT_EQ(findings[0].message, "the host waited for cuda:0 in aten::nonzero, once");
  Event step;
  step.kind = EventKind::kStep;
  for (step.step = 0; step.step < 5; ++step.step)
    log.add(step);
  findings = detectHostSync(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kNote);
  for (event.step = 1; event.step < 5; ++event.step)
    log.add(event);
  EXPECT_EQ(detectHostSync(replay(log)).at(0).severity, core::Severity::kWarning);
}

TEST(HostSync, OneLineIsOneFindingForAllDevices) {
  LogBuilder log;
  Event event = read(log, {op("item"), user("main", 5)});
  event.blocked_ns = 0;
  log.add(event);
  event.from = cuda(0);
  log.add(event);
  const auto findings = detectHostSync(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kNote); // once for each
  EXPECT_EQ(findings[0].message, "the host waited for cuda:0 and cuda:1 in aten::item, 2 times "
                                 "(8 B cuda:0 and cuda:1 → cpu)");
}

std::string remedyOf(std::initializer_list<TestFrame> frames, const char *inner = "") {
  LogBuilder log;
  Event event = read(log, frames);
  event.kind = EventKind::kBlock;
  event.op = log.string(inner);
  return detectHostSync(replay(log.add(event))).at(0).remedy;
}

TEST(HostSync, TheRemedyIsThatOfWhatWaited) {
  const TestFrame in_python = python("step", 5), in_cpp = user("step", 5);
  EXPECT_NE(remedyOf({op("nonzero"), in_cpp}).find("torch::nonzero_static(x, n)"),
            std::string::npos);
  EXPECT_NE(remedyOf({op("nonzero"), in_python}).find("torch.nonzero_static(x, size=n)"),
            std::string::npos);
  EXPECT_NE(remedyOf({op("is_nonzero"), in_python}).find("`if tensor:`"), std::string::npos);
  EXPECT_NE(remedyOf({op("index_Tensor"), in_python}).find("torch.where(mask"), std::string::npos);
  EXPECT_NE(remedyOf({op("index_fill_int_Tensor"), in_python}).find("index_copy_()"),
            std::string::npos);
  EXPECT_EQ(remedyOf({op("_unsafe_index_Tensor"), in_python}),
            remedyOf({op("index_Tensor"), in_python}));
  EXPECT_NE(remedyOf({op("linalg_matrix_exp"), in_python}).find("how many terms"),
            std::string::npos);
  EXPECT_NE(remedyOf({op("linalg_eigh"), in_python}).find("whole batch of matrices"),
            std::string::npos);
  EXPECT_NE(remedyOf({op("_grouped_mm"), in_python}).find("offsets of the groups"),
            std::string::npos);
  // Whatever it is called: it looks whether it succeeded.
  EXPECT_NE(
      remedyOf({op("_linalg_check_errors"), op("inverse"), in_cpp}, "aten::_linalg_check_errors")
          .find("linalg_inv_ex"),
      std::string::npos);
  EXPECT_NE(remedyOf({op("item"), python("clip_grad_norm_", 9, "/v/site-packages/torch/nn/u.py"),
                      in_python})
                .find("error_if_nonfinite=False"),
            std::string::npos);
  EXPECT_NE(
      remedyOf({op("is_nonzero"),
                python("Distribution.__init__", 9, "/v/site-packages/torch/distributions/d.py"),
                in_python})
          .find("validate_args=False"),
      std::string::npos);
  // "Keep the value on the device" would not fit: it never left it.
  EXPECT_EQ(remedyOf({op("mode"), in_python}).find("the operator waits inside"), 0u);
  EXPECT_NE(remedyOf({op("mode"), in_cpp}).find("devsan::AllowSync"), std::string::npos);
  // Of an extension without debug information the place is Python's, but the wait is not.
  EXPECT_EQ(
      remedyOf({op("nonzero"), user("vision::nms", 0, ""), in_python}).find("nms is compiled"), 0u);
}

TEST(HostSync, TheRemedyOfAReadIsThatOfWhatTheValueIsFor) {
  const TestFrame at = python("step", 5);
  const auto of_function = [&](const char *function) {
    return remedyOf({op("_local_scalar_dense"), op("item"), torch(function), at});
  };
  const auto has = [](const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_PRED2(has, of_function("torch::autograd::THPVariable_integral_scalar"),
               "a size or a count");
  EXPECT_PRED2(has, of_function("torch::autograd::THPVariable_index_scalar"), "`range(tensor)`");
  EXPECT_PRED2(has, of_function("torch::autograd::__PySlice_Unpack"), "a slice needs its bounds");
  EXPECT_PRED2(has, of_function("torch::PythonArgs::scalar"), "value.expand(size)");
  EXPECT_PRED2(has, of_function("torch::PythonArgs::toSymInt"), "argument is a size or a count");
  EXPECT_PRED2(has, of_function("at::indexing::handleDimInMultiDimIndexing"),
               "x.index_select(0, i)");
  EXPECT_PRED2(has, of_function("torch::autograd::THPVariable_item"), "a value to log");
  EXPECT_PRED2(has,
               remedyOf({op("item"),
                         python("Tensor.__format__", 9, "/v/site-packages/torch/_tensor.py"), at}),
               "the value is shown");
  EXPECT_PRED2(has, remedyOf({op("item"), user("step", 5)}), "with non_blocking and read one");
}

TEST(HostSync, TheBackwardOfAMaskedReadHasItsRemedy) {
  const TestFrame in_python = python("step", 5);
  LogBuilder log;
  Event backward = read(
      log, {op("_index_put_impl_"), torch("torch::autograd::Engine::thread_main()"), in_python});
  backward.kind = EventKind::kBlock;
  backward.flags |= kInBackward;
  backward.detail = log.string("IndexBackward0");
  EXPECT_EQ(detectHostSync(replay(log.add(backward))).at(0).remedy.substr(0, 13), "for `x[mask]`");
}

TEST(HostSync, PrintingOnceIsANoteThoughItReadsOften) {
  LogBuilder log;
  const std::string formatter = "/v/site-packages/torch/_tensor_str.py";
  const Event once =
      read(log, {op("item"), python("_str_intern", 10, formatter), python("main", 5)});
  const Event often =
      read(log, {op("item"), python("_Formatter.__init__", 11, formatter), python("main", 5)});
  log.add(once).add(often, 8);
  auto findings = detectHostSync(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kNote);
  EXPECT_EQ(findings[0].count, 9u);
  log.add(once).add(often, 8).add(once).add(often, 8); // in a loop
  findings = detectHostSync(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kWarning);
}

TEST(HostSync, PrintingIsOneFindingThoughItCopiesToo) {
  LogBuilder log;
  const std::string formatter = "/v/site-packages/torch/_tensor_str.py";
  Event wait =
      read(log, {op("item"), python("_Formatter.__init__", 11, formatter), python("main", 5)});
  wait.kind = EventKind::kBlock;
  wait.to = {};
  wait.bytes = 0;
  const Event copy =
      read(log, {op("to_device"), python("_vector_str", 12, formatter), python("main", 5)});
  // The values of integers are formatted one by one, in one line of torch's.
  const auto findings = detectHostSync(replay(log.add(wait, 3).add(copy)));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kNote);
  EXPECT_EQ(findings[0].message,
            "the host waited for cuda:1 in print, 4 times (4 B cuda:1 → cpu, 4.0 µs)");
}

TEST(HostSync, OneReadInEachThreadIsANote) {
  LogBuilder log;
  Event event = read(log, {op("cpu"), user("rank", 5)});
  for (std::uint32_t thread : {1, 2, 3}) {
    event.thread = thread;
    log.add(event);
  }
  const auto findings = detectHostSync(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kNote);
  EXPECT_EQ(findings[0].count, 3u);
}

TEST(HostSync, UploadsFromPageableMemoryInALoopAreAWarning) {
  LogBuilder log;
  log.add(upload(log, {op("to_device"), user("safeDivide", 5)}), 10);
  const auto findings = detectHostSync(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kWarning);
  EXPECT_EQ(findings[0].message,
            "the host waited for cuda:1 to take 4 B from pageable memory in aten::to, 10 times "
            "(40 B cpu → cuda:1, 10.0 µs)");
  EXPECT_EQ(findings[0].remedy,
            "create it on the device, or copy it with non_blocking=true: CUDA takes up to 64 KiB "
            "along with its command, pinned or not, and the host goes on");
  EXPECT_EQ(findings[0].cure, "");
}

// Of batches that a loader was seen to make.
TEST(HostSync, TheLoaderIsTheCureWhereItMadeTheBatches) {
  const auto found = [](std::initializer_list<TestFrame> made, std::uint64_t bytes) {
    LogBuilder log;
    Event event = upload(log, {op("to_device"), python("train", 5)});
    event.bytes = bytes;
    event.related = log.stack(made);
    return detectHostSync(replay(log.add(event, 10))).at(0);
  };
  const TestFrame stacked = op("cat"),
                  in_loader = python("default_collate", 9,
                                     "/v/site-packages/torch/utils/data/_utils/collate.py");
  const core::Finding of_loader = found({stacked, in_loader, python("train", 4)}, 1 << 20);
  EXPECT_NE(of_loader.cure.find("DataLoader(pin_memory=True)"), std::string::npos);
  EXPECT_NE(of_loader.remedy.find("DataLoader(pin_memory=True)"), std::string::npos);
  const core::Finding of_program = found({stacked, python("train", 4)}, 1 << 20);
  EXPECT_EQ(of_program.cure, "");
  EXPECT_EQ(of_program.remedy,
            "create it on the device, or copy it from pinned memory with non_blocking=True");
  EXPECT_EQ(found({stacked, in_loader, python("train", 4)}, 64).cure, "");
}

TEST(HostSync, AnErrorWhereWaitingIsDisallowed) {
  LogBuilder log;
  Event event = read(log, {op("item"), user("main", 5)});
  event.flags |= guardFlags(Level::kInherit, Level::kDisallowExplicit);
  log.add(event);
  const auto findings = detectHostSync(replay(log));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, core::Severity::kError);
  EXPECT_NE(findings[0].message.find("where waiting is disallowed"), std::string::npos);
}

TEST(HostSync, IsSilentInsideAllowSync) {
  LogBuilder log;
  Event event = read(log, {op("item"), user("main", 5)});
  event.flags |= guardFlags(Level::kInherit, Level::kAllow);
  log.add(event, 10);
  EXPECT_TRUE(detectHostSync(replay(log)).empty());
}

// What the levels make of a wait that the program spells out, and of one that it does not.
TEST(HostSync, TellsExplicitFromImplicitByLevel) {
  struct {
    Level level;
    std::optional<core::Severity> spelled_out, implicit;
  } const cases[] = {
      {Level::kInherit, core::Severity::kNote, core::Severity::kWarning},
      {Level::kAllow, std::nullopt, std::nullopt},
      {Level::kLog, std::nullopt, core::Severity::kWarning},
      {Level::kDisallow, std::nullopt, core::Severity::kError},
      {Level::kLogExplicit, core::Severity::kWarning, core::Severity::kWarning},
      {Level::kDisallowExplicit, core::Severity::kError, core::Severity::kError},
  };
  for (const auto &one : cases) {
    const auto found = [&](const char *name) -> std::optional<core::Severity> {
      LogBuilder log;
      Event event = read(log, {op(name), user("main", 5)});
      event.kind = EventKind::kBlock;
      event.flags |= guardFlags(Level::kInherit, one.level);
      const auto findings = detectHostSync(replay(log.add(event)));
      return findings.empty() ? std::nullopt : std::optional(findings[0].severity);
    };
    EXPECT_EQ(found("item"), one.spelled_out) << int(one.level);
    EXPECT_EQ(found("nonzero"), one.implicit) << int(one.level);
  }
}

TEST(HostSync, IsSilentInWarmUpSteps) {
  LogBuilder log;
  Event event = read(log, {op("item"), user("main", 5)});
  event.flags |= kWarmup;
  EXPECT_TRUE(detectHostSync(replay(log.add(event, 3))).empty());
}

TEST(HostSync, IsSilentWhereTheHostDoesNotWait) {
  LogBuilder log;
  Event event = read(log, {op("to_device"), user("main", 5)});
  event.flags = kNonBlocking | kPinned;
  log.add(event, 10);
  EXPECT_TRUE(detectHostSync(replay(log)).empty());
}

TEST(HostSync, IsSilentWhereAModuleIsMoved) {
  LogBuilder log;
  log.add(upload(log, {op("to_dtype_layout"), torch("torch::nn::Module::to(c10::Device, bool)"),
                       user("main", 5)}),
          8);
  EXPECT_TRUE(detectHostSync(replay(log)).empty());
}

TEST(HostSync, IsSilentWherePyTorchWorksForItself) {
  LogBuilder log;
  const auto in_torch = [&](const char *function, const char *file) {
    return read(log, {op("item"), python(function, 9, std::string("/v/site-packages") + file),
                      python("train", 5)});
  };
  log.add(in_torch("GradScaler._maybe_opt_step.<locals>.<genexpr>", "/torch/amp/grad_scaler.py"),
          10);
  log.add(in_torch("register_replacement", "/torch/_inductor/pattern_matcher.py"), 10);
  log.add(in_torch("assert_close", "/torch/testing/_comparison.py"), 10);
  EXPECT_TRUE(detectHostSync(replay(log)).empty());
  log.add(in_torch("GradScaler.get_scale", "/torch/amp/grad_scaler.py"), 10);
  EXPECT_EQ(detectHostSync(replay(log)).size(), 1u);
}

TEST(HostSync, LeavesCopiesThatNobodyAskedForToImplicitTransfer) {
  LogBuilder log;
  Event event = upload(log, {op("copy_"), op("where_self"), user("main", 5)});
  log.add(event, 10);
  EXPECT_TRUE(detectHostSync(replay(log)).empty());
  event.flags |= kTransferAllowed;
  log.add(event);
  EXPECT_EQ(detectHostSync(replay(log)).size(), 1u);
}

TEST(HostSync, LeavesTensorsOfHostValuesToImplicitTransfer) {
  LogBuilder log;
  log.add(upload(log, {op("to_device"), torch("torch::autograd::THPVariable_tensor(_object*)"),
                       user("main", 5)}),
          10);
  EXPECT_TRUE(detectHostSync(replay(log)).empty());
}

TEST(HostSync, LeavesTheLegsOfARoundTripToItsRule) {
  LogBuilder log;
  const Event down = read(log, {op("cpu"), user("cumsum", 5)});
  const Event up = upload(log, {op("to_device"), user("cumsum", 6)});
  Event trip = up;
  trip.kind = EventKind::kRoundTrip;
  trip.related = down.stack;
  for (int i = 0; i < 3; ++i)
    log.add(down).add(up).add(trip);
  EXPECT_TRUE(detectHostSync(replay(log)).empty());
}

} // namespace
} // namespace devsan::runtime
