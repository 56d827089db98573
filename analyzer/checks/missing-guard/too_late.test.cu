// Questions about the current device that are asked before the guard sets the right one.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

__global__ void scale(float *x, int n) {}

void before(at::Tensor x) {
  auto *properties = at::cuda::getCurrentDeviceProperties();
  // CHECK: :[[@LINE-1]]:22: error: 'getCurrentDeviceProperties' answers for the device that is current before the guard [device-missing-guard]
  TORCH_CHECK(properties->major >= 8);
  const c10::cuda::CUDAGuard guard(x.device());
  // CHECK: :[[@LINE-1]]:{{[0-9]+}}: note: the guard is set here
  scale<<<properties->multiProcessorCount, 256>>>(x.data_ptr<float>(), x.numel());
}

void after(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  auto *properties = at::cuda::getCurrentDeviceProperties();
  scale<<<properties->multiProcessorCount, 256>>>(x.data_ptr<float>(), x.numel());
}

// The other way is taken, or none.
void branches(at::Tensor x, bool ask) {
  if (ask) {
    at::cuda::getCurrentDeviceProperties();
  } else {
    const c10::cuda::CUDAGuard guard(x.device());
    scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
  }
}
int noGuard() { return at::cuda::getCurrentDeviceProperties()->major; }
