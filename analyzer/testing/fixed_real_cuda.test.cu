// What the fixes write into CUDA code compiles with the real LibTorch headers, and is clean.
// RUN: cp %s %t.cu
// RUN: %devsan_check --torch=%torch_dir --fix %t.cu --
// RUN: FileCheck --input-file=%t.cu %s
// RUN: %devsan_check --strict --torch=%torch_dir %t.cu --
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

#include <optional>

__global__ void scale(float *x, int n) {}

void onCurrentStream(at::Tensor x, dim3 grid) {
  const c10::cuda::CUDAGuard guard(x.device());
  // CHECK: {{^  }}scale<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x
  scale<<<grid, 256>>>(x.data_ptr<float>(), x.numel());
  // CHECK: {{^  }}scale<<<grid, 256, 64, at::cuda::getCurrentCUDAStream()>>>(x
  scale<<<grid, 256, 64>>>(x.data_ptr<float>(), x.numel());
  // CHECK: {{^  }}scale<<<grid, 256, 64, at::cuda::getCurrentCUDAStream()>>>(x
  scale<<<grid, 256, 64, nullptr>>>(x.data_ptr<float>(), x.numel());
  // CHECK: {{^  }}cudaMemsetAsync(x.data_ptr<float>(), 0, 4, at::cuda::getCurrentCUDAStream());
  cudaMemsetAsync(x.data_ptr<float>(), 0, 4, 0);
}

void underGuard(at::Tensor x, int mode) {
  // CHECK: {{^  }}const c10::cuda::CUDAGuard device_guard(x.device());
  // CHECK-NEXT: {{^  }}switch (mode) {
  switch (mode) {
  case 0:
    scale<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), 1);
    break;
  default:
    scale<<<1, 2, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), 1);
  }
}

void sizes(const at::Tensor &offsets, at::Tensor y) {
  // CHECK: {{^  }}const c10::cuda::CUDAGuard device_guard(y.device());
  // CHECK-NEXT: {{^  }}scale<<<offsets
  scale<<<offsets.size(0), 32, 0, at::cuda::getCurrentCUDAStream()>>>(y.data_ptr<float>(), 3);
}

void viaOptional(const std::optional<at::Tensor> &x) {
  // CHECK: {{^  }}const c10::cuda::CUDAGuard device_guard(x->device());
  cudaSetDevice(x->get_device());
  scale<<<1, 3, 0, at::cuda::getCurrentCUDAStream()>>>(x->data_ptr<float>(), 1);
}

void viaPointer(at::Tensor *x) {
  // CHECK: {{^  }}const c10::cuda::CUDAGuard device_guard(x->device());
  cudaSetDevice(x->get_device());
  scale<<<1, 4, 0, at::cuda::getCurrentCUDAStream()>>>(x->data_ptr<float>(), 1);
}

at::Tensor indexKept(const at::Tensor &x) {
  // CHECK: {{^  }}return at::zeros({4}, at::device(x.device()));
  return at::zeros({4}, at::device(x.device().type()));
}
