// Identity and memory: what is one tensor, one storage or a view on a CPU is so on a simulated
// device.
#include <sstream>

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

const at::Device kSecond(at::kCUDA, 1);

TEST(TensorAlias, InPlaceResultsAreTheArgument) {
  at::Tensor tensor = at::ones({4}, kSecond);
  at::Tensor &result = tensor.add_(1);
  EXPECT_TRUE(result.is_same(tensor));
  EXPECT_EQ(tensor.sum().item<float>(), 8.0f);
}

TEST(TensorAlias, ViewsShareMemory) {
  at::Tensor tensor = at::zeros({4, 4}, kSecond);
  for (at::Tensor view :
       {tensor.t(), tensor.select(0, 1), tensor.diagonal(), tensor.view({16}),
        tensor.unfold(0, 2, 1), tensor.split(2)[1], tensor.as_strided({2}, {1})}) {
    EXPECT_TRUE(view.is_alias_of(tensor));
    EXPECT_EQ(view.device(), kSecond);
  }
  tensor.diagonal().fill_(1);
  EXPECT_EQ(tensor.sum().item<float>(), 4.0f);
  EXPECT_EQ(tensor.diagonal()._version(), tensor._version());
}

TEST(TensorAlias, OutArgumentsAreResized) {
  at::Tensor tensor = at::arange(6, at::TensorOptions().device(kSecond).dtype(at::kFloat));
  at::Tensor out = at::empty({0}, kSecond);
  at::add_out(out, tensor, tensor);
  EXPECT_EQ(out.sizes(), at::IntArrayRef({6}));
  EXPECT_EQ(out.sum().item<float>(), 30.0f);
  EXPECT_EQ(out.storage().device(), kSecond);
  at::sort_out(out,
               *std::make_unique<at::Tensor>(at::empty({0}, tensor.options().dtype(at::kLong))),
               tensor.view({2, 3}), 1, true);
  EXPECT_EQ(out.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(out[0][0].item<float>(), 2.0f);
}

TEST(TensorAlias, ResizedStoragesReachEveryView) {
  at::Tensor tensor = at::ones({2}, kSecond);
  at::Tensor same = tensor.view({2});
  tensor.resize_({8});
  EXPECT_TRUE(same.is_alias_of(tensor));
  EXPECT_EQ(same.storage().nbytes(), 32u);
  EXPECT_EQ(same.sum().item<float>(), 2.0f);
  tensor.zero_();
  EXPECT_EQ(same.sum().item<float>(), 0.0f);
}

TEST(TensorAlias, SetAndDataMoveStorages) {
  at::Tensor tensor = at::ones({2}, kSecond), other = at::full({3}, 5.0f, kSecond);
  tensor.set_(other);
  EXPECT_TRUE(tensor.is_alias_of(other));
  tensor.set_(other.storage(), 1, {2}, {1});
  EXPECT_EQ(tensor.sum().item<float>(), 10.0f);
  tensor.set_data(at::zeros({4}, kSecond));
  EXPECT_EQ(tensor.numel(), 4);
}

TEST(TensorAlias, ListsAndOptionalLists) {
  at::Tensor tensor = at::arange(12, kSecond).view({3, 4});
  std::vector<at::Tensor> rows = tensor.unbind(0);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(at::equal(at::stack(rows), tensor));
  EXPECT_EQ(tensor.index({at::indexing::Slice(), tensor[0] > 1}).sizes(), at::IntArrayRef({3, 2}));
  at::_foreach_add_(rows, 1);
  EXPECT_EQ(tensor[0][0].item<int64_t>(), 1);
}

TEST(TensorAlias, ConjugateNegativeAndWrappedNumbers) {
  at::Tensor tensor = at::randn({4}, at::TensorOptions().device(kSecond).dtype(at::kComplexFloat));
  EXPECT_TRUE(tensor.conj().is_conj());
  EXPECT_TRUE(at::allclose((tensor * tensor.conj()).cpu(), tensor.cpu() * tensor.cpu().conj()));
  EXPECT_TRUE(at::equal(at::imag(tensor.conj()).cpu(), -at::imag(tensor.cpu())));
  EXPECT_EQ(
      (at::ones({2}, at::TensorOptions().device(kSecond).dtype(at::kHalf)) * 2.5).scalar_type(),
      at::kHalf);
}

TEST(TensorAlias, UndefinedAndEmptyTensors) {
  at::Tensor input = at::randn({1, 2, 4, 4}, kSecond), weight = at::randn({3, 2, 3, 3}, kSecond);
  EXPECT_EQ(at::conv2d(input, weight, at::Tensor()).device(), kSecond);
  EXPECT_EQ(at::cat({at::empty({0}, kSecond), at::ones({2}, kSecond)}).numel(), 2);
  EXPECT_EQ(at::empty({0, 3}, kSecond).sum(1).numel(), 0);
}

TEST(TensorAlias, DevicesAndValuesSurviveSaving) {
  at::Tensor tensor = at::randn({5}, kSecond);
  std::stringstream stream;
  torch::save(tensor, stream);
  at::Tensor loaded, moved;
  torch::load(loaded, stream);
  EXPECT_EQ(loaded.device(), kSecond);
  EXPECT_TRUE(at::equal(loaded, tensor));
  stream.seekg(0);
  torch::load(moved, stream, at::Device(at::kCUDA, 0));
  EXPECT_EQ(moved.device(), at::Device(at::kCUDA, 0));
}

TEST(TensorAlias, FreedMemoryIsReturned) {
  at::Allocator *allocator = c10::GetAllocator(at::kCUDA);
  ASSERT_NE(allocator, nullptr);
  at::Tensor kept;
  {
    at::Tensor tensor = at::ones({8}, kSecond);
    kept = tensor.slice(0, 2, 4);
  }
  EXPECT_EQ(kept.sum().item<float>(), 2.0f);
}

} // namespace
