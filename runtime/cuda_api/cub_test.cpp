// at::cuda::cub on memory of simulated devices, in a program built against a CPU LibTorch.
#include <torch/torch.h>

#include <ATen/cuda/cub.h>
#include <limits>

#include <gtest/gtest.h>

namespace {

using at::cuda::cub::exclusive_sum;
using at::cuda::cub::inclusive_sum;

const torch::Device kDevice(torch::kCUDA, 0);

template <typename Key> void sortsAsTheCpu(torch::Tensor keys) {
  const torch::Tensor on_device = keys.to(kDevice), sorted = torch::empty_like(on_device);
  for (bool descending : {false, true}) {
    at::cuda::cub::radix_sort_keys(on_device.data_ptr<Key>(), sorted.data_ptr<Key>(), keys.numel(),
                                   descending);
    EXPECT_TRUE(torch::equal(sorted.cpu(), std::get<0>(keys.sort(0, descending))))
        << keys << sorted.cpu();
  }
}

TEST(Cub, SortsKeysOfEachKind) {
  const torch::Tensor numbers = torch::tensor({3, -1, 0, 7, -128, 127, 5, -1});
  sortsAsTheCpu<std::int8_t>(numbers.to(torch::kChar));
  sortsAsTheCpu<std::uint8_t>(numbers.to(torch::kByte));
  sortsAsTheCpu<int>(numbers.to(torch::kInt) * 100000);
  sortsAsTheCpu<std::int64_t>(numbers.to(torch::kLong) * (std::int64_t(1) << 40));
  sortsAsTheCpu<bool>(numbers > 2);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const torch::Tensor reals =
      torch::tensor({0.5f, -2.f, kInfinity, 0.25f, -kInfinity, 1e-6f, -0.75f});
  sortsAsTheCpu<float>(reals);
  sortsAsTheCpu<double>(reals.to(torch::kDouble));
  sortsAsTheCpu<at::Half>(reals.to(torch::kHalf));
  sortsAsTheCpu<at::BFloat16>(reals.to(torch::kBFloat16));
}

TEST(Cub, SortsPairsBySomeBitsAndKeepsTheOrderOfEqualKeys) {
  const torch::Tensor keys = torch::tensor({0x13, 0x22, 0x31, 0x12, 0x23}, torch::kInt).to(kDevice);
  const torch::Tensor values = torch::arange(5, kDevice), sorted = torch::empty_like(values);
  torch::Tensor sorted_keys = torch::empty_like(keys);
  at::cuda::cub::radix_sort_pairs(keys.data_ptr<int>(), sorted_keys.data_ptr<int>(),
                                  values.data_ptr<std::int64_t>(), sorted.data_ptr<std::int64_t>(),
                                  5, /*descending=*/false, /*begin_bit=*/0, /*end_bit=*/4);
  EXPECT_TRUE(torch::equal(sorted.cpu(), torch::tensor({2, 1, 3, 0, 4})));
  EXPECT_TRUE(torch::equal(sorted_keys.cpu(), keys.cpu().index({torch::tensor({2, 1, 3, 0, 4})})));
  at::cuda::cub::radix_sort_pairs<int, std::int64_t>(
      keys.data_ptr<int>(), nullptr, values.data_ptr<std::int64_t>(),
      sorted.data_ptr<std::int64_t>(), 5, /*descending=*/true, 4, 8);
  EXPECT_TRUE(torch::equal(sorted.cpu(), torch::tensor({2, 1, 4, 0, 3})));
}

TEST(Cub, RefusesWhatAGpuDoesNotSort) {
  const torch::Tensor keys = torch::arange(256, torch::kInt).to(kDevice);
  const torch::Tensor sorted = torch::empty_like(keys);
  const torch::Tensor values = torch::arange(256, kDevice), ordered = torch::empty_like(values);
  const auto sort = [](const torch::Tensor &in, const torch::Tensor &out, std::int64_t n,
                       std::int64_t begin_bit = 0, std::int64_t end_bit = 32) {
    at::cuda::cub::radix_sort_keys(in.data_ptr<int>(), out.data_ptr<int>(), n, false, begin_bit,
                                   end_bit);
  };
  EXPECT_NO_THROW(sort(keys, sorted, 256));
  EXPECT_NO_THROW(sort(keys, sorted, 0));
  EXPECT_NO_THROW(sort(keys, sorted, 256, 32, 32));
  EXPECT_THROW(sort(keys, sorted, -1), c10::Error);
  EXPECT_THROW(at::cuda::cub::radix_sort_keys<int>(keys.data_ptr<int>(), nullptr, 256), c10::Error);
  EXPECT_THROW(sort(keys, sorted, 1 << 20), c10::Error);
  EXPECT_THROW(sort(keys, sorted, 256, -1), c10::Error);
  EXPECT_THROW(sort(keys, sorted, 256, 0, 33), c10::Error);
  EXPECT_THROW(sort(keys, sorted, 256, 8, 4), c10::Error);
  EXPECT_THROW(sort(keys, keys, 256), c10::Error);
  EXPECT_THROW(sort(keys, keys.slice(0, 64), 128), c10::Error);
  EXPECT_NO_THROW(sort(keys, keys.slice(0, 128), 128));
  EXPECT_THROW((at::cuda::cub::radix_sort_pairs<int, std::int64_t>(
                   keys.data_ptr<int>(), nullptr, values.data_ptr<std::int64_t>(),
                   values.data_ptr<std::int64_t>(), 256)),
               c10::Error);
  EXPECT_THROW(
      inclusive_sum(values.data_ptr<std::int64_t>(), ordered.data_ptr<std::int64_t>(), 1 << 20),
      c10::Error);
  EXPECT_THROW(exclusive_sum(values.data_ptr<std::int64_t>(), ordered.data_ptr<std::int64_t>(), -2),
               c10::Error);
}

TEST(Cub, Sums) {
  const torch::Tensor numbers = torch::tensor({1, 2, 3, 4}, kDevice);
  const torch::Tensor sums = torch::empty_like(numbers);
  inclusive_sum(numbers.data_ptr<std::int64_t>(), sums.data_ptr<std::int64_t>(), 4);
  EXPECT_TRUE(torch::equal(sums.cpu(), torch::tensor({1, 3, 6, 10})));
  exclusive_sum(numbers.data_ptr<std::int64_t>(), sums.data_ptr<std::int64_t>(), 4);
  EXPECT_TRUE(torch::equal(sums.cpu(), torch::tensor({0, 1, 3, 6})));
  const torch::Tensor mask = numbers != 2;
  at::cuda::cub::mask_exclusive_sum(mask.data_ptr<bool>(), sums.data_ptr<std::int64_t>(), 4);
  EXPECT_TRUE(torch::equal(sums.cpu(), torch::tensor({0, 1, 1, 2})));
}

} // namespace
