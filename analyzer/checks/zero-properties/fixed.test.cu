// RUN: cp %s %t.cu
// RUN: not %devsan_check --checks=device-zero-properties --torch=none --fix %t.cu -- -std=c++20 -isystem %mock
// RUN: FileCheck %s --input-file=%t.cu
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

int properties(at::Tensor x) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  return prop.multiProcessorCount;
}
// CHECK: {{^}}  cudaGetDeviceProperties(&prop, c10::cuda::current_device());

// Asked once, by whoever comes first: the current device would be no better.
int kept() {
  static cudaDeviceProp *prop = at::cuda::getDeviceProperties(0);
  return prop->multiProcessorCount;
}
// CHECK: {{^}}  static cudaDeviceProp *prop = at::cuda::getDeviceProperties(0);
