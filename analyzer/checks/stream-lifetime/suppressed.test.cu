// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

__global__ void kernel(float *x) {}

void launched(at::Tensor x) {
  auto side = at::cuda::getStreamFromPool();
  auto scratch = torch::empty({1024}, x.options());
  kernel<<<1, 256, 0, side>>>(scratch.data_ptr<float>()); // NOLINT(device-stream-lifetime)
}
