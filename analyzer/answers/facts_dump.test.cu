// What is believed of CUDA's work.
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/x.cu
// RUN: %check_mock --dump-facts > %t/facts && FileCheck %s --match-full-lines --input-file=%t/facts
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

namespace ns {
__global__ void scale(float *data) {}
} // namespace ns

// CHECK: function guarded at [[#@LINE+1]]:6
void guarded(at::Tensor x) {
  // CHECK: [[#@LINE+1]]:3 asks the current device 'at::cuda::getCurrentDeviceProperties()', no guard
  at::cuda::getCurrentDeviceProperties();
  const c10::cuda::CUDAGuard guard(x.device());
  // CHECK: [[#@LINE+1]]:{{[0-9]+}} takes the current stream as 'stream', device set
  auto stream = at::cuda::getCurrentCUDAStream();
  // CHECK: [[#@LINE+1]]:3 kernel '{{.*}}', named ns::scale, on 'stream', own guard
  ns::scale<<<1, 32, 0, stream>>>(x.data_ptr<float>());
  // CHECK: CUDA: has tensors x, serves tensors
}

// CHECK: function bare at [[#@LINE+1]]:6
void bare(at::Tensor x) {
  // CHECK: [[#@LINE+1]]:3 kernel '{{.*}}', named ns::scale, on the default stream, no guard
  ns::scale<<<1, 32>>>(x.data_ptr<float>());
}

// CHECK: function calls at [[#@LINE+1]]:6
void calls(at::Tensor x) {
  // CHECK: [[#@LINE+1]]:3 sets the device 'cudaSetDevice(1)'
  cudaSetDevice(1);
}
