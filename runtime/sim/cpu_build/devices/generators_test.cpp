// Random numbers: reproducible, and independent per device and of the CPU's.
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

const at::Device kFirst(at::kCUDA, 0), kSecond(at::kCUDA, 1);

TEST(Generators, SameSeedSameNumbers) {
  torch::manual_seed(7);
  at::Tensor once = at::randn({16}, kSecond);
  torch::manual_seed(7);
  EXPECT_TRUE(at::equal(once, at::randn({16}, kSecond)));
}

TEST(Generators, EachDeviceHasItsState) {
  torch::manual_seed(7);
  at::Tensor alone = at::rand({16}, kSecond);
  torch::manual_seed(7);
  (void)at::rand({16}, kFirst);
  (void)at::rand({16});
  EXPECT_TRUE(at::equal(alone, at::rand({16}, kSecond)));
  torch::manual_seed(7);
  at::Tensor host = at::rand({16});
  torch::manual_seed(7);
  (void)at::rand({16}, kSecond);
  EXPECT_TRUE(at::equal(host, at::rand({16})));
}

TEST(Generators, KernelsWithoutAGeneratorArgumentDrawFromTheDevice) {
  at::Tensor ones = at::ones({256}, kSecond);
  torch::manual_seed(7);
  at::Tensor dropped = std::get<0>(at::native_dropout(ones, 0.5, true));
  at::Tensor host = at::rand({4});
  torch::manual_seed(7);
  EXPECT_TRUE(at::equal(host, at::rand({4})));
  EXPECT_TRUE(at::equal(dropped, std::get<0>(at::native_dropout(ones, 0.5, true))));
}

TEST(Generators, AProgramsOwnGenerator) {
  at::Generator generator = at::detail::getCUDAHooks().getNewGenerator(1);
  generator.set_current_seed(3);
  at::Tensor state = generator.get_state();
  at::Tensor once = at::randn({8}, generator, kSecond);
  generator.set_state(state);
  EXPECT_TRUE(at::equal(once, at::randn({8}, generator, kSecond)));
  EXPECT_EQ(generator.device(), kSecond);
  EXPECT_THROW(at::randn({8}, at::detail::createCPUGenerator(), kSecond), c10::Error);
}

} // namespace
