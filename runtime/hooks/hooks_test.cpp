// The runtime as a program meets it: this program starts itself again under the preload shim, with
// two simulated devices, and reads its own event log while it runs.
#include "runtime/include/devsan/devsan.h"
#include "runtime/offline/log_reader.h"
#include "test/support/store_backend.h"

#include <ATen/ThreadLocalState.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/torch.h>
#include <unistd.h>

namespace devsan::runtime {
namespace {

namespace fs = std::filesystem;

const torch::Device kFirst("cuda:0");
const torch::Device kSecond("cuda:1");

ProcessLog readOwnLog(pid_t pid = getpid()) {
  for (const auto &entry : fs::directory_iterator(std::getenv("DEVSAN_LOG_DIR"))) {
    auto log = readLog(entry.path());
    EXPECT_TRUE(log) << (log ? "" : log.error().message);
    if (log && log->header.pid == std::uint32_t(pid))
      return *log;
  }
  return {};
}

// What `body` made the runtime record, on any thread.
struct Recorded {
  ProcessLog log;
  std::vector<Event> events;

  std::string op(std::size_t i) const { return log.string(events.at(i).op); }
  std::size_t count(EventKind kind) const {
    return std::size_t(std::count_if(events.begin(), events.end(),
                                     [&](const Event &e) { return e.kind == kind; }));
  }
  const Event &first(EventKind kind) const {
    return *std::find_if(events.begin(), events.end(),
                         [&](const Event &e) { return e.kind == kind; });
  }
};

// Without the first uses of devices, of which any test may make one.
ProcessLog readEvents() {
  ProcessLog log = readOwnLog();
  std::erase_if(log.events, [](const Event &e) { return e.kind == EventKind::kDeviceUse; });
  return log;
}

template <typename Body> Recorded record(Body body) {
  std::size_t before = readEvents().events.size();
  body();
  Recorded recorded{readEvents(), {}};
  recorded.events.assign(recorded.log.events.begin() + std::ptrdiff_t(before),
                         recorded.log.events.end());
  return recorded;
}

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

torch::Tensor onSecond() {
  return torch::ones({4, 4}, kSecond);
}

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
  auto waits = record([&] { pageable.to(kSecond, torch::kFloat, /*non_blocking=*/true); });
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

TEST(Scopes, MarkEventsAndNest) {
  auto x = onSecond();
  auto recorded = record([&] {
    ExpectNoSync outer;
    x.sum().item<float>();
    AllowSync inner;
    AllowTransfer transfer;
    x.cpu();
  });
  ASSERT_EQ(recorded.events.size(), 2u);
  EXPECT_TRUE(recorded.events[0].flags & kSyncForbidden);
  EXPECT_FALSE(recorded.events[0].flags & kSyncAllowed);
  EXPECT_TRUE(recorded.events[1].flags & kSyncAllowed);
  EXPECT_TRUE(recorded.events[1].flags & kTransferAllowed);
  EXPECT_FALSE(recorded.events[1].flags & kSyncForbidden);
  auto after = record([&] { x.sum().item<float>(); });
  EXPECT_FALSE(after.events.at(0).flags & (kSyncForbidden | kSyncAllowed | kTransferAllowed));
}

struct ReadsInBackward : torch::autograd::Function<ReadsInBackward> {
  static torch::Tensor forward(torch::autograd::AutogradContext *, torch::Tensor x) {
    return x.clone();
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext *,
                                               torch::autograd::tensor_list gradients) {
    gradients[0].sum().item<float>();
    return gradients;
  }
};

TEST(Scopes, CoverTheBackwardStartedInsideThem) {
  auto parameter = torch::ones({3}, torch::TensorOptions(kSecond).requires_grad(true));
  auto recorded = record([&] {
    AllowSync scope;
    ReadsInBackward::apply(parameter).sum().backward();
  });
  ASSERT_EQ(recorded.events.size(), 1u);
  EXPECT_TRUE(recorded.events[0].flags & kSyncAllowed);
  EXPECT_TRUE(recorded.events[0].flags & kInBackward);
  EXPECT_NE(recorded.log.string(recorded.events[0].detail).find("ReadsInBackward"),
            std::string::npos);
}

TEST(Scopes, DoNotCoverOtherThreads) {
  auto x = onSecond();
  auto recorded = record([&] {
    AllowSync scope;
    std::thread([&] { x.sum().item<float>(); }).join();
  });
  ASSERT_EQ(recorded.events.size(), 1u);
  EXPECT_FALSE(recorded.events[0].flags & kSyncAllowed);
}

Level transferLevelOf(const Event &event) {
  return transferLevel(event.flags);
}

TEST(Scopes, HoldByDirectionAndTheInnerOneWins) {
  auto x = onSecond();
  auto host = torch::ones({4, 4});
  auto recorded = record([&] {
    TransferGuard all(devsan::Level::kDisallow);
    SyncGuard waits(devsan::Level::kLogExplicit);
    TransferGuard down(devsan::Direction::kDeviceToHost, devsan::Level::kAllow);
    x.cpu();
    host.to(kSecond);
    x.to(kFirst);
    SyncGuard inner(devsan::Level::kDisallow);
    x.cpu();
  });
  ASSERT_EQ(recorded.events.size(), 4u);
  EXPECT_EQ(transferLevelOf(recorded.events[0]), Level::kAllow);
  EXPECT_EQ(transferLevelOf(recorded.events[1]), Level::kDisallow);
  EXPECT_EQ(transferLevelOf(recorded.events[2]), Level::kDisallow);
  EXPECT_EQ(syncLevel(recorded.events[0].flags), Level::kLogExplicit);
  EXPECT_EQ(syncLevel(recorded.events[3].flags), Level::kDisallow);
}

TEST(Counts, HoldWhatHappenedInsideOnThisThreadAndInItsBackward) {
  auto x = onSecond();
  auto parameter = torch::ones({3}, torch::TensorOptions(kSecond).requires_grad(true));
  auto pinned = torch::ones(8).pin_memory();
  x.sum().item<float>(); // before
  SyncCount outer;
  {
    SyncCount inner;
    AllowSync allowed; // says nothing about how often
    x.cpu();
    x.to(kFirst);
    pinned.to(kSecond, torch::kFloat, /*non_blocking=*/true);
    std::thread([&] { x.sum().item<float>(); }).join();
    EXPECT_EQ(inner.syncs(), 1u);
    EXPECT_EQ(inner.transfers(devsan::Direction::kDeviceToHost), 1u);
    EXPECT_EQ(inner.transfers(devsan::Direction::kDeviceToDevice), 1u);
    EXPECT_EQ(inner.transfers(devsan::Direction::kHostToDevice), 1u);
    ReadsInBackward::apply(parameter).sum().backward();
    EXPECT_EQ(inner.syncs(), 2u);
  }
  x.sum().item<float>();
  EXPECT_EQ(outer.syncs(), 3u);
}

TEST(Guards, ThrowBeforeTheOperatorDoesAnything) {
  auto x = onSecond();
  auto host = torch::zeros({4, 4});
  auto recorded = record([&] {
    SyncGuard guard(devsan::Level::kDisallowExplicit, devsan::OnError::kThrow);
    EXPECT_THROW(host.copy_(x), c10::Error);
    EXPECT_EQ(host.sum().item<float>(), 0);
    EXPECT_THROW(x.nonzero(), c10::Error);
    SyncGuard inner(devsan::Level::kInherit, devsan::OnError::kReport);
    x.sum().item<float>();
    AllowSync allowed;
    host.copy_(x);
  });
  EXPECT_EQ(host.sum().item<float>(), 16);
  ASSERT_EQ(recorded.events.size(), 4u);
  EXPECT_EQ(recorded.events[0].blocked_ns, 0u);
  EXPECT_TRUE(recorded.events[0].flags & kSyncForbidden);
}

TEST(Guards, ThrowOutOfABackward) {
  auto parameter = torch::ones({3}, torch::TensorOptions(kSecond).requires_grad(true));
  auto loss = ReadsInBackward::apply(parameter).sum();
  ExpectNoSync guard(devsan::OnError::kThrow);
  try {
    loss.backward();
    ADD_FAILURE();
  } catch (const c10::Error &error) {
    EXPECT_NE(std::string(error.what()).find("is about to wait for cuda:1"), std::string::npos)
        << error.what();
  }
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
  ASSERT_EQ(recorded.events.size(), 3u);
  EXPECT_EQ(recorded.events[1].kind, EventKind::kStep);
  EXPECT_EQ(recorded.events[2].step, recorded.events[0].step + 1);
}

// Whether this test passes in a process of its own, for what needs one that has used no device.
int statusAlone() {
  const testing::TestInfo &test = *testing::UnitTest::GetInstance()->current_test_info();
  std::string program = "/proc/self/exe";
  std::string filter = std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
  char *argv[] = {program.data(), filter.data(), nullptr};
  pid_t child = 0;
  int status = -1;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, argv, environ) == 0)
    waitpid(child, &status, 0);
  return status;
}

TEST(Processes, AForkedChildHasALogOfItsOwn) {
  // The child of a process that has used its devices is refused them.
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 1) {
    EXPECT_EQ(statusAlone(), 0);
    return;
  }
  auto host = torch::ones(3);
  std::size_t before = readOwnLog().events.size();
  pid_t child = fork();
  if (child == 0) {
    host.to(kSecond);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(readOwnLog().events.size(), before);
  ProcessLog log = readOwnLog(child);
  const auto is_copy = [](const Event &event) { return event.kind == EventKind::kCopy; };
  ASSERT_EQ(std::ranges::count_if(log.events, is_copy), 1);
  EXPECT_EQ(log.header.parent_pid, std::uint32_t(getpid()));
  EXPECT_FALSE(log.stack(log.events[0].stack).empty());
  EXPECT_FALSE(log.modules.empty());
}

// Threads that take a stack for each event and use every kind of simulated memory, until this
// object ends.
class BusyThreads {
public:
  BusyThreads() {
    // LibTorch finds an operator when it is first called, under the lock of a static: a child
    // forked in the midst of that would wait for a thread that it has not.
    onSecond().sum().item<float>();
    onSecond().cpu();
    torch::zeros(3).add(1);
    torch::ones({3}).pin_memory().is_pinned();
    for (int i = 0; i < 3; ++i)
      threads_.emplace_back([this] {
        auto x = onSecond();
        while (!stop_) {
          x.sum().item<float>();
          x.cpu();
          torch::ones({4}).pin_memory();
        }
      });
  }
  ~BusyThreads() {
    stop_ = true;
    for (auto &thread : threads_)
      thread.join();
  }

private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// The status of a child that ends by SIGALRM where it hangs.
template <typename Body> int statusOfChild(Body body) {
  pid_t child = fork();
  if (child == 0) {
    alarm(30);
    // What it throws must not reach the parent's frames, whose threads are not here.
    try {
      body();
    } catch (const std::exception &error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// Host work of a child that takes the runtime's and the simulator's locks.
void workOnHost() {
  torch::zeros(3).add(1);
  if (!torch::ones({3}).pin_memory().is_pinned() || torch::ones({3}).is_pinned())
    throw std::runtime_error("is_pinned() is wrong");
  devsan::step(); // an event with a stack
}

TEST(Processes, ForkWhileOtherThreadsTakeStacks) {
  auto host = torch::ones(3);
  BusyThreads threads;
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(statusOfChild([&] {
                workOnHost();
                // Another thread of the child sees the loader's locks free too.
                std::thread(workOnHost).join();
              }),
              0);
}

TEST(Processes, AForkedChildIsRefusedTheDevicesOfItsParent) {
  auto host = torch::ones(3);
  BusyThreads threads;
  auto own = onSecond();
  auto refuses = [](auto &&use) {
    try {
      use();
    } catch (const c10::Error &error) {
      return std::string(error.what()).find("CUDA error: initialization error") !=
             std::string::npos;
    }
    return false;
  };
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(statusOfChild([&] {
                bool all = refuses([&] { host.to(kSecond); }) && refuses([&] { own.cpu(); }) &&
                           refuses([&] { own.add(1); }) &&
                           refuses([&] { torch::empty({2}, kSecond); });
                std::thread([&] { all = all && refuses([&] { host.to(kSecond); }); }).join();
                _exit(all ? 0 : 1);
              }),
              0);
}

TEST(Processes, ForkInsideAnOperatorsCallback) {
  BusyThreads threads;
  auto x = torch::ones({2}, torch::TensorOptions(kSecond).requires_grad(true));
  int forks = 0;
  auto y = x * 2;
  y.register_hook([&](const torch::Tensor &gradient) {
    for (int i = 0; i < 20; ++i, ++forks)
      EXPECT_EQ(statusOfChild(workOnHost), 0);
    return gradient;
  });
  y.sum().backward();
  EXPECT_EQ(forks, 20);
}

TEST(Processes, OtherProgramsStartWhileThreadsTakeStacks) {
  BusyThreads threads;
  char program[] = "/bin/true";
  char *argv[] = {program, nullptr};
  for (int i = 0; i < 50; ++i) {
    pid_t child = 0;
    ASSERT_EQ(posix_spawn(&child, program, nullptr, nullptr, argv, environ), 0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    ASSERT_EQ(statusOfChild([&] { execv(program, argv); }), 0);
    child = vfork();
    if (child == 0) {
      execv(program, argv);
      _exit(127);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
}

TEST(Processes, ManyThreadsLoseNothing) {
  constexpr int kThreads = 16, kEvents = 100; // more than are written one by one
  const auto waits = [](const ProcessLog &log) {
    std::uint64_t sum = 0;
    for (const Tally &tally : log.tallies)
      if (tally.first.kind == EventKind::kBlock)
        sum += tally.occurrences.count;
    return sum;
  };
  const std::uint64_t before = waits(readOwnLog());
  auto recorded = record([&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([] {
        auto x = torch::ones({1}, kSecond);
        for (int k = 0; k < kEvents; ++k)
          x.item<float>();
      });
    for (auto &thread : threads)
      thread.join();
  });
  EXPECT_EQ(waits(recorded.log) - before, std::uint64_t(kThreads * kEvents));
}

} // namespace
} // namespace devsan::runtime

int main(int argc, char **argv) {
  if (!std::getenv("DEVSAN_LOG_DIR")) {
    std::string directory =
        (std::filesystem::temp_directory_path() / "devsan-hooks-XXXXXX").string();
    if (!mkdtemp(directory.data()))
      return 1;
    setenv("DEVSAN_LOG_DIR", directory.c_str(), 1);
    setenv("DEVSAN_SIM_DEVICES", "2", 1);
    setenv("DEVSAN_LIBS", DEVSAN_SIM_LIBRARY ":" DEVSAN_RUNTIME_LIBRARY, 1);
    setenv("LD_PRELOAD", DEVSAN_PRELOAD_LIBRARY, 1);
    pid_t child = fork();
    if (child == 0) {
      execv("/proc/self/exe", argv);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::filesystem::remove_all(directory);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
