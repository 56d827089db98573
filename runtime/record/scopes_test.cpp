#include "runtime/include/devsan/devsan.h"
#include "runtime/record/testing/recorded.h"

#include <thread>
#include <torch/torch.h>

namespace devsan::runtime {
namespace {

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
  EXPECT_TRUE(recorded.events[0].flags & kSyncDisallowed);
  EXPECT_FALSE(recorded.events[0].flags & kSyncAllowed);
  EXPECT_TRUE(recorded.events[1].flags & kSyncAllowed);
  EXPECT_TRUE(recorded.events[1].flags & kTransferAllowed);
  EXPECT_FALSE(recorded.events[1].flags & kSyncDisallowed);
  auto after = record([&] { x.sum().item<float>(); });
  EXPECT_FALSE(after.events.at(0).flags & (kSyncDisallowed | kSyncAllowed | kTransferAllowed));
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
  EXPECT_TRUE(recorded.events[0].flags & kSyncDisallowed);
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

} // namespace
} // namespace devsan::runtime
