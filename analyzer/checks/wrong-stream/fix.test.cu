// RUN: cp %s %t.cu
// RUN: %devsan_check --checks=device-wrong-stream --torch=none --fix %t.cu -- -std=c++20 -isystem %mock -isystem %cuda_stubs
// RUN: FileCheck %s --input-file=%t.cu
// RUN: %devsan_check --checks=device-wrong-stream --torch=none %t.cu -- -std=c++20 -isystem %mock -isystem %cuda_stubs
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

__global__ void scale(float *x, int n) {}

void launch(at::Tensor x, dim3 grid) {
  scale<<<grid, 256>>>(x.data_ptr<float>(), x.numel());
  scale<<<grid, 256, 64>>>(x.data_ptr<float>(), x.numel());
  scale<<<grid, 256, 64, nullptr>>>(x.data_ptr<float>(), x.numel());
  scale<<<{256}, {256}, 0, {}>>>(x.data_ptr<float>(), x.numel());
  scale<<<{256}, {}, {}, {  }>>>(x.data_ptr<float>(), x.numel());
  scale<<<{256, }, 256, 0, {/* default */
                           }>>>(x.data_ptr<float>(), x.numel());
  scale<<<{256}, 256, 0, {nullptr}>>>(x.data_ptr<float>(), x.numel());
  scale<<<{256}, {256}>>>(x.data_ptr<float>(), x.numel());
}
// CHECK: {{^}}  scale<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x
// CHECK: {{^}}  scale<<<grid, 256, 64, at::cuda::getCurrentCUDAStream()>>>(x
// CHECK: {{^}}  scale<<<grid, 256, 64, at::cuda::getCurrentCUDAStream()>>>(x
// CHECK: {{^}}  scale<<<{256}, {256}, 0, at::cuda::getCurrentCUDAStream()>>>(x
// CHECK: {{^}}  scale<<<{256}, {}, {}, at::cuda::getCurrentCUDAStream()>>>(x
// CHECK: {{^}}  scale<<<{256, }, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x
// CHECK: {{^}}  scale<<<{256}, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x
// CHECK: {{^}}  scale<<<{256}, {256}, 0, at::cuda::getCurrentCUDAStream()>>>(x
