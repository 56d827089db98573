// Files with missing headers: what parses is judged, and a guard whose class was not found counts.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

#include "not_there.h"

__global__ void scaleSpecial(Special *x, int n) {}
__global__ void scale(float *x, int n) {}

void unresolved(at::Tensor x) {
  scaleSpecial<<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(static_cast<Special *>(x.data_ptr()), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
}
void unknownFunction(at::Tensor x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  // CHECK: :[[@LINE-1]]:17: error: 'stream' is the stream of the current device{{.*}}[device-missing-guard]
  scaleElsewhere(x.data_ptr<float>(), stream);
  // CHECK: :[[@LINE-1]]:3: error: the call puts work on a stream{{.*}}[device-missing-guard]
}
void unknownGuard(at::Tensor x) {
  special::DeviceGuard guard(x.device());
  scale<<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), x.numel());
}
void libraryCall(at::Tensor x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  ncclSomething(x.data_ptr<float>(), stream);
}
