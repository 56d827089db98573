#include "test/support/store_backend.h"

#include <cstdlib>
#include <filesystem>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "test/support/expect_error.h"

namespace devsan::test {
namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

void checkCollectives(const Group &group) {
  const int rank = group->getRank(), size = group->getSize();
  std::vector<at::Tensor> input{at::full({2}, rank)};
  std::vector<std::vector<at::Tensor>> outputs(1);
  for (int r = 0; r < size; ++r)
    outputs[0].push_back(at::empty({2}, input[0].options()));
  group->allgather(outputs, input)->wait();
  for (int r = 0; r < size; ++r)
    EXPECT_TRUE(at::equal(outputs[0][r], at::full({2}, r)));

  at::Tensor gathered = at::empty({2 * size}, input[0].options());
  group->all_gather_single(gathered, input[0])->wait();
  EXPECT_TRUE(at::equal(gathered, at::cat(outputs[0])));

  std::vector<at::Tensor> sum{at::ones({3}) * (rank + 1)};
  group->allreduce(sum)->wait();
  EXPECT_TRUE(at::equal(sum[0], at::full({3}, size * (size + 1) / 2, at::kFloat)));

  c10d::AllreduceOptions max;
  max.reduceOp = c10d::ReduceOp::MAX;
  std::vector<at::Tensor> largest{at::full({1}, rank)};
  group->allreduce(largest, max)->wait();
  EXPECT_EQ(largest[0].item<int64_t>(), size - 1);

  c10d::BroadcastOptions from_last;
  from_last.rootRank = size - 1;
  std::vector<at::Tensor> tensor{at::full({2}, rank)};
  group->broadcast(tensor, from_last)->wait();
  EXPECT_EQ(tensor[0][0].item<int64_t>(), size - 1);

  group->barrier()->wait();
}

TEST(StoreBackend, JoinsThreads) {
  runRanks(1, checkCollectives);
  runRanks(3, checkCollectives);
}

TEST(StoreBackend, CarriesBytesThroughAFile) {
  const auto path =
      std::filesystem::temp_directory_path() / ("store-" + std::to_string(std::rand()));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      checkCollectives(
          makeStoreGroup(c10::make_intrusive<c10d::FileStore>(path.string(), 2), rank, 2));
    });
  for (std::thread &rank : ranks)
    rank.join();
  std::filesystem::remove(path);
}

TEST(StoreBackend, LeavesNothingInTheStore) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const Group group = makeStoreGroup(store, 0, 1);
  for (int repeat = 0; repeat < 10; ++repeat)
    group->barrier()->wait();
  EXPECT_LE(store->getNumKeys(), 1);
}

TEST(StoreBackend, RanksThatDisagreeAllGetTheError) {
  runRanks(2, [](const Group &group) {
    std::vector<at::Tensor> tensor{at::ones({group->getRank() + 1})};
    EXPECT_ERROR(group->allreduce(tensor), "rank 0", "rank 1", "4 bytes", "8 bytes");
    group->barrier()->wait();
  });
}

TEST(StoreBackend, NamesTheRankThatNeverComes) {
  const Group group =
      makeStoreGroup(c10::make_intrusive<c10d::HashStore>(), 0, 2, std::chrono::milliseconds(50));
  EXPECT_ERROR(group->barrier(), "rank 0", "50 ms", "rank 1");
}

} // namespace
} // namespace devsan::test
