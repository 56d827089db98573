// Host code of a CUDA file on LibTorch's own headers, without a CUDA toolkit; then again with the precompiled header that
// the first run has left.
// RUN: not %check_torch -j1 | %file_check
// RUN: not %check_torch -j1 --strict | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <ATen/cuda/Atomic.cuh>

template <typename scalar_t> __global__ void scale(scalar_t *x, int64_t n) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    gpuAtomicAdd(x + i, __shfl_down_sync(0xffffffff, x[i], 1));
}

// What LibTorch declares for nvcc only.
__global__ void fill(torch::PackedTensorAccessor32<float, 1, torch::RestrictPtrTraits> x) {}

torch::Tensor bad(torch::Tensor x) {
  auto out = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<1, 256>>>(out.data_ptr<scalar_t>(), x.numel());
    // CHECK: :[[@LINE-1]]:5: error: {{.*}}[device-missing-guard]
    // CHECK: :[[@LINE-2]]:5: error: {{.*}}[device-wrong-stream]
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
  C10_CUDA_CHECK(cudaSetDevice(x.get_device()));
  // CHECK: :[[@LINE-1]]:18: warning: {{.*}}[device-raw-set-device]
  return out;
}

torch::Tensor good(torch::Tensor x) {
  const at::cuda::OptionalCUDAGuard guard(at::device_of(x));
  auto out = torch::empty_like(x);
  auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<1, 256, 0, stream>>>(out.data_ptr<scalar_t>(), x.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
  return out;
}
