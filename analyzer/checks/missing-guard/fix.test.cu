// One guard, before the stream is taken and inside the branch that only device tensors reach.
// RUN: cp %s %t.cu
// RUN: %devsan_check --checks=device-missing-guard --torch=none --fix %t.cu -- -std=c++20 -isystem %mock -isystem %cuda_stubs
// RUN: FileCheck %s --input-file=%t.cu
// RUN: %devsan_check --checks=device-missing-guard --torch=none %t.cu -- -std=c++20 -isystem %mock -isystem %cuda_stubs

// Nor does clang-tidy set one for each launch.
// RUN: cp %s %t.cu
// RUN: clang-tidy-22 --load=%plugin --checks=-*,device-missing-guard --fix --quiet %t.cu -- -std=c++20 -isystem %mock -isystem %cuda_stubs -x cuda --cuda-host-only -nocudalib -nocudainc -Wno-unknown-cuda-version -include cuda_runtime.h
// RUN: FileCheck %s --input-file=%t.cu
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

__global__ void scale(float *x, int n) {}

void launch(at::Tensor x) {
  if (x.is_cuda()) {
    int threads = 256;
    auto stream = at::cuda::getCurrentCUDAStream();
    scale<<<1, threads, 0, stream>>>(x.data_ptr<float>(), x.numel());
    if (x.numel() > 8)
      scale<<<1, threads, 0, stream>>>(x.data_ptr<float>(), x.numel());
  }
}
// CHECK: int threads = 256;
// CHECK-NEXT: {{^}}    const c10::cuda::CUDAGuard device_guard(x.device());
// CHECK-NEXT: {{^}}    auto stream = at::cuda::getCurrentCUDAStream();

// Before what is made for the launch: memory, events, tensors of the current device. What was made for another is not.
void allocates(at::Tensor x) {
  TORCH_CHECK(x.is_cuda());
  const int64_t n = x.numel();
  auto options = x.options();
  float *scratch = nullptr;
  cudaMalloc(&scratch, n * sizeof(float));
  auto out = torch::empty({n}, torch::dtype(torch::kFloat).device(torch::kCUDA));
  scale<<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), n);
  cudaFree(scratch);
}
// CHECK: void allocates
// CHECK: auto options
// CHECK-NEXT: float *scratch
// CHECK-NEXT: {{^}}  const c10::cuda::CUDAGuard device_guard(x.device());
// CHECK-NEXT: {{^}}  cudaMalloc
void makesTensor(at::Tensor x) {
  const int64_t n = x.numel();
  auto like = torch::empty_like(x);
  auto options = torch::dtype(torch::kFloat).device(torch::kCUDA);
  if (n > 8) {
    auto out = torch::empty({n}, options);
    scale<<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), n);
  }
}
// CHECK: void makesTensor
// CHECK: if (n > 8) {
// CHECK-NEXT: {{^}}    const c10::cuda::CUDAGuard device_guard(x.device());
// CHECK-NEXT: {{^}}    auto out
