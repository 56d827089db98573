// RUN: cp %s %t.cpp
// RUN: %devsan_check --checks=device-raw-set-device --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock
// RUN: FileCheck %s --input-file=%t.cpp
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

void launch(const at::Tensor &x) {
  cudaSetDevice(x.get_device());
}
// CHECK: {{^}}  const c10::cuda::CUDAGuard device_guard(x.device());
