// Generators as the host code of kernels uses them, by LibTorch's own headers.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <gtest/gtest.h>

namespace {

TEST(Generators, AreCudasByTheirClass) {
  const at::Generator &generator = at::cuda::detail::getDefaultCUDAGenerator(1);
  EXPECT_NE(dynamic_cast<at::CUDAGeneratorImpl *>(generator.unsafeGetGeneratorImpl()), nullptr);
  EXPECT_EQ(at::check_generator<at::CUDAGeneratorImpl>(generator)->device(), at::Device("cuda:1"));
  EXPECT_EQ(dynamic_cast<at::CUDAGeneratorImpl *>(
                at::globalContext().defaultGenerator(at::kCPU).unsafeGetGeneratorImpl()),
            nullptr);
}

TEST(Generators, GiveAKernelItsSeedAndOffset) {
  at::Generator generator = at::cuda::detail::createCUDAGenerator(1);
  generator.set_current_seed(123);
  auto *cuda = at::get_generator_or_default<at::CUDAGeneratorImpl>(
      generator, at::cuda::detail::getDefaultCUDAGenerator(1));
  const at::PhiloxCudaState first = cuda->philox_cuda_state(5);
  EXPECT_EQ(first.seed_.val, 123u);
  EXPECT_EQ(first.offset_.val, 0u);
  EXPECT_FALSE(first.captured_);
  EXPECT_EQ(cuda->philox_cuda_state(1).offset_.val, 8u); // whole groups of four numbers
  EXPECT_EQ(cuda->philox_offset_per_thread(), 12u);
  EXPECT_EQ(cuda->philox_engine_inputs(4), (std::pair<std::uint64_t, std::uint64_t>(123, 12)));
}

} // namespace
