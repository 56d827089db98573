#include "metrics/distributed/gather_all_tensors.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

// The tensor that a rank contributes: numbers that tell rank and place.
at::Tensor contribution(int rank, at::IntArrayRef sizes, at::Device device,
                        at::ScalarType dtype = at::kFloat) {
  const int64_t numel = c10::multiply_integers(sizes);
  return (at::arange(numel, at::kFloat) + 100 * rank).to(device, dtype).view(sizes);
}

class Gather : public test::DeviceTest {};
DEVSAN_DEVICE_SUITE(Gather);

TEST_P(Gather, GathersAllKindsOfShapes) {
  const std::vector<std::vector<std::vector<int64_t>>> cases = {
      {{3, 2}, {3, 2}},         // even
      {{3, 2}, {5, 2}},         // uneven, padded
      {{2}, {0}, {3}},          // one empty
      {{0}, {0}},               // all empty
      {{}, {}, {}},             // scalars
      {{1}, {1000}, {0}},       // skewed, broadcast
      {{2, 3}, {4}, {1, 1, 2}}, // other numbers of dimensions
  };
  for (const auto &shapes : cases)
    test::onRanks(static_cast<int>(shapes.size()), [&](const Group &group) {
      const int rank = group->getRank();
      const at::Tensor own = contribution(rank, shapes[rank], device());
      const auto gathered = gather_all_tensors(own, group);
      ASSERT_EQ(gathered.size(), shapes.size());
      EXPECT_TRUE(gathered[rank].is_same(own));
      for (int r = 0; r < group->getSize(); ++r) {
        EXPECT_EQ(gathered[r].device(), device());
        EXPECT_TRUE(at::equal(gathered[r], contribution(r, shapes[r], device())))
            << "slice " << r << " on " << rank;
      }
    });
}

TEST_P(Gather, CarriesEveryDtypeAndStride) {
  for (const at::ScalarType dtype : {at::kBool, at::kByte, at::kShort, at::kLong, at::kHalf,
                                     at::kBFloat16, at::kDouble, at::kComplexFloat})
    test::onRanks(2, [&](const Group &group) {
      const auto sizes = [](int rank) { return std::vector<int64_t>{3, 2 + rank}; };
      const at::Tensor own =
          contribution(group->getRank(), sizes(group->getRank()), device(), dtype).t();
      const auto gathered = gather_all_tensors(own, group);
      for (int r = 0; r < 2; ++r)
        EXPECT_TRUE(at::equal(gathered[r], contribution(r, sizes(r), device(), dtype).t()))
            << dtype;
    });
}

TEST_P(Gather, OwnSliceKeepsItsGraph) {
  // loss = sum over all ranks' slices of w_r * x_r^2: the own gradient is 2 w x, whatever the
  // others do.
  for (const std::vector<int64_t> &lengths : {std::vector<int64_t>{4, 4}, {3, 0, 5}})
    test::onRanks(static_cast<int>(lengths.size()), [&](const Group &group) {
      const int rank = group->getRank();
      const at::Tensor x =
          contribution(rank, {lengths[rank]}, device(), at::kDouble).requires_grad_();
      at::Tensor loss = at::zeros({}, x.options());
      const auto gathered = gather_all_tensors(x, group);
      for (int r = 0; r < group->getSize(); ++r) {
        EXPECT_EQ(gathered[r].requires_grad(), r == rank);
        loss = loss + ((rank + 1) * gathered[r].square()).sum();
      }
      loss.backward();
      ASSERT_TRUE(x.grad().defined());
      EXPECT_TRUE(at::equal(x.grad(), 2 * (rank + 1) * x.detach()));
    });
}

TEST_P(Gather, AdjointSumsTheRanksGradients) {
  // On rank k, loss_k = sum_r (k + 1) * x_r^2; the gradient by x_r summed over the ranks is 2 * (1
  // + ... + ranks) * x_r.
  for (const std::vector<int64_t> &lengths :
       {std::vector<int64_t>{4, 4}, {3, 0}, {3, 0, 5}, {1, 50, 0}})
    for (const int without_grad : {-1, 0}) {
      const auto ranks = static_cast<int>(lengths.size());
      if (test::distinctDevices(device(), ranks) < ranks)
        continue; // ranks of one process that share a GPU share its backward thread too, and would
                  // wait for each other
      test::onRanks(ranks, [&](const Group &group) {
        const int rank = group->getRank();
        const at::Tensor x =
            contribution(rank, {lengths[rank]}, test::rankDevice(device(), rank), at::kDouble);
        x.set_requires_grad(rank != without_grad);
        at::Tensor loss = at::zeros({}, x.options());
        for (const at::Tensor &slice : gather_all_tensors(x, group, GatherGrad::kAdjoint))
          loss = loss + ((rank + 1) * slice.square()).sum();
        loss.backward();
        if (rank == without_grad)
          EXPECT_FALSE(x.grad().defined());
        else
          EXPECT_TRUE(at::equal(x.grad(), ranks * (ranks + 1) * x.detach()));
      });
    }
}

TEST_P(Gather, AdjointTakesUnusedSlices) {
  if (test::distinctDevices(device(), 2) < 2)
    GTEST_SKIP() << "needs two devices of this type";
  test::onRanks(2, [&](const Group &group) {
    const at::Device own_device = test::rankDevice(device(), group->getRank());
    const at::Tensor x =
        contribution(group->getRank(), {2, 2}, own_device, at::kDouble).requires_grad_();
    gather_all_tensors(x, group, GatherGrad::kAdjoint)[1]
        .sum()
        .backward(); // rank 0's slice goes nowhere
    EXPECT_TRUE(
        at::equal(x.grad(), at::full({2, 2}, group->getRank() == 1 ? 2. : 0., x.grad().options())));
  });
}

TEST_P(Gather, RanksThatDisagreeAllGetTheError) {
  test::onRanks(2, [&](const Group &group) {
    const bool first = group->getRank() == 0;
    const at::Tensor x = at::ones({2}, at::TensorOptions().device(device()));
    EXPECT_ERROR(gather_all_tensors(first ? x : x.to(at::kLong), group), "gather_all_tensors",
                 "rank 1", "Long", "Float", "one dtype");
    EXPECT_ERROR(gather_all_tensors(first ? x : at::empty({2}, at::kMeta), group), "rank 1", "meta",
                 "device type");
    EXPECT_ERROR(gather_all_tensors(first ? x : at::Tensor(), group), "rank 1", "undefined",
                 "size of 0");
    EXPECT_ERROR(gather_all_tensors(first ? at::ones({2}).to_sparse() : x, group), "rank 0",
                 "sparse", "dense");
    std::vector<int64_t> many_dims(17, 1);
    many_dims[0] = 2;
    EXPECT_ERROR(gather_all_tensors(first ? x : x.view(many_dims), group), "rank 1",
                 "16 dimensions", "flatten");
    EXPECT_EQ(gather_all_tensors(x, group).size(), 2u); // the group is still in step
  });
  EXPECT_ERROR(gather_all_tensors(at::ones({1}), Group()), "process group");
}

TEST_P(Gather, WorksInGroupsWithoutACpuBackEnd) {
  if (device().is_cpu())
    GTEST_SKIP() << "needs a device other than the CPU in DEVSAN_TEST_DEVICES";
  const c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      const test::HostAccessScope host_access;
      const auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, 2);
      group->setBackend(device().type(), c10d::ProcessGroup::CUSTOM,
                        c10::intrusive_ptr<c10d::Backend>(
                            c10::make_intrusive<test::StoreBackend>(store, rank, 2)));
      const auto gathered = gather_all_tensors(contribution(rank, {rank + 1}, device()), group);
      for (int r = 0; r < 2; ++r)
        EXPECT_TRUE(at::equal(gathered[r], contribution(r, {r + 1}, device())));
    });
  for (std::thread &thread : threads)
    thread.join();
}

// Counts what the calling thread holds and has held at most, through the CPU allocator.
class CountingAllocator : public c10::Allocator {
public:
  c10::DataPtr allocate(size_t bytes) override {
    current += bytes;
    peak = std::max(peak, current);
    auto *block = new Block{c10::GetDefaultCPUAllocator()->allocate(bytes), bytes};
    return {block->data.get(), block, &release, at::kCPU};
  }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  static thread_local size_t current, peak;

private:
  struct Block {
    c10::DataPtr data;
    size_t bytes;
  };
  static void release(void *block) {
    current -= static_cast<Block *>(block)->bytes;
    delete static_cast<Block *>(block);
  }
};
thread_local size_t CountingAllocator::current = 0;
thread_local size_t CountingAllocator::peak = 0;

TEST(GatherMemory, PeakIsWithinTheStatedBound) {
  static CountingAllocator counting; // tensors may outlive the test
  c10::Allocator *const before = c10::GetCPUAllocator();
  c10::SetCPUAllocator(&counting, /*priority=*/255);
  for (const std::vector<int64_t> &lengths : {std::vector<int64_t>{100000, 100000},
                                              {100000, 60000, 80000},
                                              {1000, 300000, 0},
                                              {0, 0, 200000}}) {
    const int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) * 4;
    const int64_t largest = *std::max_element(lengths.begin(), lengths.end()) * 4;
    test::onRanks(static_cast<int>(lengths.size()), [&](const Group &group) {
      const at::Tensor own =
          at::ones({2, lengths[group->getRank()] / 2}).t(); // has to be made contiguous
      const size_t base = CountingAllocator::current;
      CountingAllocator::peak = base;
      const auto gathered = gather_all_tensors(own, group);
      constexpr int64_t kHeaders = 4096;
      EXPECT_LE(static_cast<int64_t>(CountingAllocator::peak - base),
                2 * total + largest + kHeaders);
      EXPECT_GE(static_cast<int64_t>(CountingAllocator::peak - base), total - own.nbytes());
    });
  }
  c10::SetCPUAllocator(before, /*priority=*/255);
}

} // namespace
} // namespace devsan::metrics
