// The clang-tidy plugin and devsan-check report the same.
// RUN: not %check_mock | %file_check
// RUN: not %tidy | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/torch.h>

template <typename scalar_t> __global__ void scale(scalar_t *x, int n) {
  if (threadIdx.x < n)
    x[threadIdx.x] *= 2;
}

void launch(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<scalar_t>(), x.numel());
    // CHECK: :[[@LINE-1]]:5: error: the kernel runs on the current device{{.*}}[device-missing-guard
  });
}

void suppressed(at::Tensor x) {
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel()); // NOLINT(device-*)
}

void noGuard(at::Tensor x) {
  cudaSetDevice(x.get_device());
  // CHECK: :[[@LINE-1]]:3: {{warning|error}}: the caller's current device is changed and not restored [device-raw-set-device
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream
}
