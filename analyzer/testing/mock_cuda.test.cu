// Host code of CUDA files parses with the mock headers and the CUDA stubs.
// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

template <typename scalar_t> __global__ void scale(scalar_t *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2;
}

void launch(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<1, 256, 0, stream>>>(x.data_ptr<scalar_t>(), x.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
}
