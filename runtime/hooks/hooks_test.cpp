#include "runtime/include/devsan/devsan.h"
#include "runtime/record/testing/recorded.h"
#include "test/support/store_backend.h"

#include <ATen/ThreadLocalState.h>
#include <ATen/record_function.h>
#include <filesystem>
#include <sys/syscall.h>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/torch.h>

namespace devsan::runtime {
namespace {

namespace fs = std::filesystem;

#define EXPECT_ONE(recorded, expected_kind, expected_op, is_blocking)                              \
  do {                                                                                             \
    ASSERT_EQ((recorded).events.size(), 1u);                                                       \
    EXPECT_EQ((recorded).events[0].kind, EventKind::expected_kind);                                \
    EXPECT_EQ((recorded).op(0), expected_op);                                                      \
    EXPECT_EQ(((recorded).events[0].flags & kBlocks) != 0, is_blocking);                           \
  } while (false)

DeviceId id(const torch::Device &device) {
  return {std::int8_t(device.type()), std::int8_t(device.index())};
}
const DeviceId kHost{0, -1};

TEST(Copies, AreRecordedOnceWithDirectionAndSize) {
  auto host = torch::ones({4, 4});
  auto to_device = record([&] { host.to(kSecond); });
  EXPECT_ONE(to_device, kCopy, "aten::copy_", true);
  EXPECT_EQ(to_device.events[0].from, kHost);
  EXPECT_EQ(to_device.events[0].to, id(kSecond));
  EXPECT_EQ(to_device.events[0].bytes, 64u);
  EXPECT_GT(to_device.events[0].blocked_ns, 0u);

  auto x = onSecond();
  auto across = record([&] { x.to(kFirst); });
  EXPECT_ONE(across, kCopy, "aten::copy_", false);
  EXPECT_EQ(across.events[0].from, id(kSecond));
  EXPECT_EQ(across.events[0].to, id(kFirst));
}

TEST(Copies, WithinOneDeviceOrTheHostAreSilent) {
  auto x = onSecond();
  auto host = torch::ones(3);
  EXPECT_TRUE(record([&] {
                x.clone();
                x.copy_(x * 2);
                x.to(torch::kHalf);
                x.to(kSecond);
                host.clone();
                torch::empty({0}, kSecond).to(torch::kCPU);
              }).events.empty());
}

TEST(Copies, WaitUnlessPinned) {
  auto pageable = torch::ones(8), pinned = torch::ones(8).pin_memory();
  auto small = record([&] { pageable.to(kSecond, torch::kFloat, /*non_blocking=*/true); });
  EXPECT_ONE(small, kCopy, "aten::copy_", false);
  auto large = torch::ones(1 << 15);
  auto waits = record([&] { large.to(kSecond, torch::kFloat, /*non_blocking=*/true); });
  EXPECT_ONE(waits, kCopy, "aten::copy_", true);
  EXPECT_TRUE(waits.events[0].flags & kNonBlocking);
  auto free = record([&] { pinned.to(kSecond, torch::kFloat, /*non_blocking=*/true); });
  EXPECT_ONE(free, kCopy, "aten::copy_", false);
  EXPECT_TRUE(free.events[0].flags & kPinned);
}

TEST(Blocks, AreSeenInEveryHookedOperator) {
  auto x = onSecond();
  auto counts = torch::ones({4}, torch::TensorOptions(kSecond).dtype(torch::kLong));
  EXPECT_ONE(record([&] { x.sum().item<float>(); }), kBlock, "aten::_local_scalar_dense", true);
  EXPECT_ONE(record([&] { x.nonzero(); }), kBlock, "aten::nonzero", true);
  EXPECT_ONE(record([&] { torch::equal(x, x + 1); }), kBlock, "aten::equal", true);
  EXPECT_ONE(record([&] { x.masked_select(x > 0); }), kBlock, "aten::masked_select", true);
  EXPECT_ONE(record([&] { x.index({x > 0}); }), kBlock, "aten::index", true);
  EXPECT_ONE(record([&] { torch::bincount(counts); }), kBlock, "aten::bincount", true);
  EXPECT_ONE(record([&] { at::_unique2(x); }), kBlock, "aten::_unique2", true);
  EXPECT_ONE(record([&] { torch::repeat_interleave(counts); }), kBlock, "aten::repeat_interleave",
             true);
  EXPECT_ONE(record([&] { torch::histc(x, 4); }), kBlock, "aten::histc", true);
  EXPECT_ONE(record([&] { x.masked_fill(x > 0, x.sum()); }), kBlock, "aten::masked_fill_", true);
  auto event = record([&] { x.sum().item<float>(); }).events.at(0);
  EXPECT_EQ(event.from, id(kSecond));
  EXPECT_EQ(event.thread, std::uint32_t(syscall(SYS_gettid)));
}

TEST(Blocks, AreNotClaimedForOperatorsThatDoNotWait) {
  auto x = onSecond();
  auto rows = torch::zeros({2}, torch::TensorOptions(kSecond).dtype(torch::kLong));
  auto recorded = record([&] {
    x.index_put_({x > 0}, 1.0);
    x.index({rows});
    (x > 0).any();
    torch::where(x > 0, x, x + 1);
    torch::repeat_interleave(rows, std::optional<std::int64_t>(0));
    torch::one_hot(rows, 4);
    torch::histc(x, 4, 0, 1);
    torch::linalg_inv_ex(x);
    x.masked_fill(x > 0, 2.0);
  });
  for (std::size_t i = 0; i < recorded.events.size(); ++i)
    ADD_FAILURE() << recorded.op(i);
}

TEST(Blocks, OfSparseTensorsAreSeen) {
  auto longs = torch::TensorOptions(kSecond).dtype(torch::kLong);
  auto indices = torch::zeros({2, 3}, longs);
  auto sparse = torch::sparse_coo_tensor(indices, torch::ones({3}, kSecond), {4, 4});
  EXPECT_ONE(record([&] { sparse.coalesce(); }), kBlock, "aten::_coalesce", true);
  EXPECT_ONE(record([&] { onSecond().to_sparse(); }), kBlock, "aten::_to_sparse", true);
  auto coalesced = sparse.coalesce();
  // One element is left; its index and its value are copied one after the other.
  auto download = record([&] { coalesced.cpu(); });
  ASSERT_EQ(download.count(EventKind::kCopy), 2u);
  EXPECT_EQ(download.events[0].bytes + download.events[1].bytes, 2 * 8u + 4u);
  auto overwrite = record([&] { sparse.copy_(coalesced.cpu()); });
  EXPECT_EQ(overwrite.op(2), "aten::copy_");
  EXPECT_EQ(overwrite.events[2].bytes, 2 * 8u + 4u);
  EXPECT_EQ(overwrite.events.size(), 3u);
  EXPECT_TRUE(record([&] { coalesced.to_dense(); }).events.empty());
}

TEST(Blocks, OfHostIndicesAreCopies) {
  auto x = onSecond();
  auto rows = torch::zeros({2}, torch::kLong);
  auto recorded = record([&] { x.index({rows}); });
  EXPECT_ONE(recorded, kCopy, "aten::index", true);
  EXPECT_EQ(recorded.events[0].from, kHost);
  EXPECT_EQ(recorded.events[0].to, id(kSecond));
  EXPECT_EQ(recorded.events[0].bytes, 16u);
}

TEST(Stacks, ReachTheCaller) {
  auto x = onSecond();
  auto recorded = record([&] { x.sum().item<float>(); });
  ASSERT_EQ(recorded.events.size(), 1u);
  std::string self = fs::read_symlink("/proc/self/exe");
  const Module *program = nullptr;
  for (const Module &module : recorded.log.modules)
    if (module.path == self)
      program = &module;
  ASSERT_NE(program, nullptr);
  auto frames = recorded.log.stack(recorded.events[0].stack);
  EXPECT_TRUE(std::any_of(frames.begin(), frames.end(), [&](const FrameRecord &frame) {
    return frame.pc >= program->begin && frame.pc < program->end;
  }));
  for (const FrameRecord &frame : frames)
    for (const Module &module : recorded.log.modules)
      if (frame.pc >= module.begin && frame.pc < module.end)
        EXPECT_EQ(module.path.find("libdevsan_runtime"), std::string::npos);
}

TEST(Provenance, SeesDataComeBack) {
  auto x = onSecond();
  auto recorded = record([&] { x.cpu().cumsum(0).add(1).to(kFirst); });
  ASSERT_EQ(recorded.count(EventKind::kRoundTrip), 1u);
  const Event &trip = recorded.first(EventKind::kRoundTrip);
  EXPECT_EQ(trip.origin, id(kSecond));
  EXPECT_EQ(trip.to, id(kFirst));
  EXPECT_NE(trip.related, 0u);
  EXPECT_EQ(trip.related, recorded.events[0].stack);
}

TEST(Provenance, OfOtherDataIsNotMixedUp) {
  auto x = onSecond();
  auto recorded = record([&] {
    auto host = x.cpu();
    torch::ones(3).add(1).to(kSecond);
  });
  EXPECT_EQ(recorded.count(EventKind::kRoundTrip), 0u);
  EXPECT_EQ(recorded.events.size(), 2u);
}

bool operatorsAreObserved() {
  return at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value();
}

void runManyOperators() {
  auto x = torch::ones(1);
  for (int i = 0; i < 1000; ++i)
    x.add_(1);
}

TEST(Provenance, OutlivesTheStateThatAutogradPutsBack) {
  auto x = onSecond();
  runManyOperators();
  auto recorded = record([&] {
    torch::Tensor host;
    {
      at::ThreadLocalStateGuard node{at::ThreadLocalState()};
      host = x.cpu();
    }
    host.add(1).to(kFirst);
  });
  EXPECT_EQ(recorded.count(EventKind::kRoundTrip), 1u);
}

TEST(Provenance, CostsNothingOnceItIsOver) {
  auto x = onSecond();
  runManyOperators();
  EXPECT_FALSE(operatorsAreObserved());
  auto host = x.cpu();
  EXPECT_TRUE(operatorsAreObserved());
  {
    at::ThreadLocalStateGuard node{at::ThreadLocalState()};
    runManyOperators();
  }
  runManyOperators(); // the state that was put back had an observer
  EXPECT_FALSE(operatorsAreObserved());
  std::thread([&] {
    auto other = x.cpu();
    EXPECT_TRUE(operatorsAreObserved());
  }).join();
  EXPECT_FALSE(operatorsAreObserved());
  runManyOperators();
  EXPECT_FALSE(operatorsAreObserved());
}

TEST(Provenance, CostsOtherThreadsNothing) {
  auto x = onSecond();
  auto host = x.cpu();
  std::thread([] { EXPECT_FALSE(operatorsAreObserved()); }).join();
  auto recorded = record([&] { x.cpu().add(1).to(kFirst); });
  EXPECT_EQ(recorded.count(EventKind::kRoundTrip), 1u);
}

TEST(Mismatch, NamesTheOddOperandAndWhereItWasMade) {
  torch::nn::Linear layer(4, 2);
  auto x = onSecond();
  auto recorded = record([&] { EXPECT_THROW(layer(x), c10::Error); });
  ASSERT_GE(recorded.count(EventKind::kMismatch), 1u);
  for (const Event &event : recorded.events) {
    EXPECT_EQ(event.from, kHost);
    EXPECT_EQ(event.to, id(kSecond));
    EXPECT_TRUE(event.flags & kLeafParameter);
    EXPECT_FALSE(event.flags & kOriginIsMove);
    EXPECT_NE(event.related, 0u);
    EXPECT_NE(recorded.log.string(event.detail).find("same device"), std::string::npos);
  }
}

TEST(Mismatch, KnowsATensorThatWasMoved) {
  auto x = onSecond();
  auto moved = torch::ones({4, 4}).to(kFirst);
  auto recorded = record([&] { EXPECT_THROW(x + moved, c10::Error); });
  ASSERT_EQ(recorded.count(EventKind::kMismatch), 1u);
  const Event &event = recorded.first(EventKind::kMismatch);
  EXPECT_EQ(event.from, id(kFirst));
  EXPECT_TRUE(event.flags & kOriginIsMove);
  EXPECT_EQ(recorded.log.string(event.operand), "other: float32 [4, 4]");
}

// The table of origins holds storages weakly; what is left of a dead one must not stay in the heap.
TEST(Origins, GiveBackDeadStorages) {
  auto onDevice = [] { return torch::ones({4, 4}).to(kFirst); };
  auto kept = onDevice();
  auto dead = onDevice();
  const auto of_kept = kept.storage().getWeakStorageImpl(),
             of_dead = dead.storage().getWeakStorageImpl();
  EXPECT_EQ(of_dead.weak_use_count(), of_kept.weak_use_count());
  dead.reset();
  EXPECT_EQ(of_dead.weak_use_count(), 2u) << "not in the table, so that this test says nothing";
  for (int i = 0; i < 256; ++i)
    onDevice();
  EXPECT_EQ(of_dead.weak_use_count(), 1u);
  EXPECT_GT(of_kept.weak_use_count(), 2u) << "of a living tensor";
}

// Results of operators pass no factory, nor does memory of the program's that a tensor is laid
// over.
TEST(Origins, OfResultsAndOfMemoryThatIsWrapped) {
  const auto a = torch::ones({4}), b = torch::ones({4});
  float memory[4] = {};
  const std::pair<const char *, std::function<torch::Tensor()>> made[] = {
      {"stack", [&] { return torch::stack({a, b}); }},
      {"cat", [&] { return torch::cat({a, b}); }},
      {"relu", [&] { return torch::relu(a); }},
      {"add", [&] { return a + b; }},
      {"strided", [&] { return a.view({2, 2}).t() + b.view({2, 2}).t(); }},
      {"from_blob", [&] { return torch::from_blob(memory, {4}); }}};
  for (const auto &[name, make] : made) {
    const torch::Tensor host = make();
    const auto recorded = record([&] { host.to(kSecond); });
    ASSERT_EQ(recorded.events.size(), 1u) << name;
    EXPECT_NE(recorded.events[0].related, 0u) << name;
    EXPECT_NE(recorded.events[0].related, recorded.events[0].stack) << name;
  }
}

// Gathers `value(rank)` on two ranks and hands rank 0's list, and its own value, to `use`.
template <typename Value, typename Use> void gather(Value value, Use use) {
  auto store = c10::make_intrusive<c10d::HashStore>();
  auto run = [&](int rank) {
    auto group = test::makeStoreGroup(store, rank, 2);
    std::vector<torch::Tensor> own{value(rank)};
    std::vector<std::vector<torch::Tensor>> all{{torch::zeros(3), torch::zeros(3)}};
    group->allgather(all, own)->wait();
    if (rank == 0)
      use(all[0], own[0]);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

torch::Tensor withGrad(int) {
  return torch::ones(3, torch::requires_grad()) * 2;
}

TEST(Gathers, CombinedWithoutTheOwnSliceAreRecorded) {
  auto recorded =
      record([] { gather(withGrad, [](auto &all, auto &) { torch::stack(all).sum(); }); });
  EXPECT_ONE(recorded, kGatherCombined, "aten::stack", false);
  EXPECT_NE(recorded.events[0].related, 0u);
  EXPECT_EQ(record([] {
              gather(withGrad, [](auto &all, auto &) { (all[0] + all[1]).sum(); });
            }).events.size(),
            1u);
  EXPECT_EQ(record([] {
              gather(withGrad,
                     [](auto &all, auto &) { torch::cat({all[0].narrow(0, 0, 2), all[1]}); });
            }).events.size(),
            1u);
}

TEST(Gathers, WithTheOwnSliceOrWithoutGradientsAreSilent) {
  auto recorded = record([] {
    gather(withGrad, [](auto &all, auto &own) {
      all[0] = own;
      torch::stack(all).sum();
      all[0] + all[1];
    });
    gather(withGrad, [](auto &all, auto &) {
      torch::NoGradGuard guard;
      torch::stack(all);
    });
    gather([](int) { return torch::ones(3); }, [](auto &all, auto &) { torch::stack(all); });
  });
  EXPECT_EQ(recorded.events.size(), 0u);
}

// How many frames of the stack are this program's.
std::ptrdiff_t ownFrames(const ProcessLog &log, StackId stack) {
  const std::string self = fs::read_symlink("/proc/self/exe");
  auto frames = log.stack(stack);
  return std::count_if(frames.begin(), frames.end(), [&](const FrameRecord &frame) {
    return std::any_of(log.modules.begin(), log.modules.end(), [&](const Module &module) {
      return module.path == self && frame.pc >= module.begin && frame.pc < module.end;
    });
  });
}

TEST(Backwards, ReachTheirStartFromTheEnginesThread) {
  auto parameter = torch::ones({3}, torch::TensorOptions(kSecond).requires_grad(true));
  auto loss = torch::prod(parameter * 2);
  auto recorded = record([&] { loss.backward(); });
  ASSERT_EQ(recorded.count(EventKind::kBlock), 1u);
  const Event &event = recorded.first(EventKind::kBlock);
  EXPECT_NE(event.thread, std::uint32_t(syscall(SYS_gettid)));
  EXPECT_EQ(recorded.log.string(event.detail), "ProdBackward0");
  EXPECT_GT(ownFrames(recorded.log, event.stack), 0);
}

// Starts a backward of its own within a node.
struct StartsAnother : torch::autograd::Function<StartsAnother> {
  static torch::Tensor forward(torch::autograd::AutogradContext *context, torch::Tensor x) {
    context->save_for_backward({x});
    return x.clone();
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext *context,
                                               torch::autograd::tensor_list gradients) {
    torch::AutoGradMode enabled(true);
    auto x = context->get_saved_variables()[0].detach().requires_grad_();
    torch::autograd::grad({torch::prod(x)}, {x});
    return gradients;
  }
};

TEST(Backwards, InsideOfOthersReachTheOutermostStart) {
  auto parameter = torch::ones({3}, torch::TensorOptions(kSecond).requires_grad(true));
  auto loss = StartsAnother::apply(parameter).sum();
  auto direct = record([&] { torch::prod(parameter).backward(); });
  auto recorded = record([&] { loss.backward(); });
  ASSERT_EQ(direct.count(EventKind::kBlock), 1u);
  ASSERT_EQ(recorded.count(EventKind::kBlock), 1u);
  // The frames of the node that started the inner one come on top of those of main.
  EXPECT_GT(ownFrames(recorded.log, recorded.first(EventKind::kBlock).stack),
            ownFrames(direct.log, direct.first(EventKind::kBlock).stack));
}

TEST(Backwards, LeaveNothingBehindOnTheirThreads) {
  auto parameter = torch::ones({3}, torch::TensorOptions(kSecond).requires_grad(true));
  auto x = onSecond();
  const auto plain = record([&] { x.sum().item<float>(); });
  torch::prod(parameter).backward();
  const auto after = record([&] { x.sum().item<float>(); });
  ASSERT_EQ(after.events.size(), 1u);
  EXPECT_EQ(after.log.stack(after.events[0].stack).size(),
            plain.log.stack(plain.events.at(0).stack).size());
}

TEST(Steps, AreCounted) {
  auto x = onSecond();
  auto recorded = record([&] {
    x.sum().item<float>();
    step();
    x.sum().item<float>();
  });
  ASSERT_EQ(recorded.events.size(), 2u);
  const auto [before, after] = std::pair(recorded.events[0], recorded.events[1]);
  EXPECT_EQ(after.step, before.step + 1);
  ASSERT_FALSE(recorded.log.step_ends.empty());
  const StepEnd &end = recorded.log.step_ends.back();
  EXPECT_EQ(end.step, before.step);
  EXPECT_LE(before.time_ns, end.time_ns);
  EXPECT_LE(end.time_ns, after.time_ns);
}

} // namespace
} // namespace devsan::runtime
