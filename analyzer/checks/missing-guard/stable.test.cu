// Extensions on LibTorch's stable interface have tensors and guards of their own names.
// RUN: not %check_mock | %file_check
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/ops.h>

__global__ void scale(float *x, int64_t n) {}

void bare(torch::stable::Tensor x, cudaStream_t stream) {
  scale<<<1, 256, 0, stream>>>(static_cast<float *>(x.data_ptr()), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
}
void guarded(torch::stable::Tensor x, cudaStream_t stream) {
  const torch::stable::accelerator::DeviceGuard guard(x.get_device_index());
  scale<<<1, 256, 0, stream>>>(static_cast<float *>(x.data_ptr()), x.numel());
}
