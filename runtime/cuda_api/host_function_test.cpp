// Work for the host in a stream's order, which CUDA's runtime is given, after LibTorch's own
// copies.
#include <torch/torch.h>

#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>

#include <gtest/gtest.h>

namespace {

struct Seen {
  const torch::Tensor *host;
  float first = -1;
};

TEST(HostFunction, SeesTheCopiesBeforeIt) {
  const torch::Tensor device = torch::ones({1 << 16}, torch::Device(torch::kCUDA, 0));
  const torch::Tensor host = torch::zeros({1 << 16}, torch::TensorOptions().pinned_memory(true));
  host.copy_(device, /*non_blocking=*/true);
  Seen seen{&host};
  EXPECT_EQ(cudaLaunchHostFunc(
                c10::cuda::getCurrentCUDAStream(),
                [](void *data) {
                  auto *seen = static_cast<Seen *>(data);
                  seen->first = *seen->host->data_ptr<float>();
                },
                &seen),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(c10::cuda::getCurrentCUDAStream()), cudaSuccess);
  EXPECT_EQ(seen.first, 1);
}

} // namespace
