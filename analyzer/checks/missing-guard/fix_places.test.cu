// A guard is offered where it compiles and is the right one for all launches.
// RUN: not %check_mock | %file_check
// RUN: cp %s %t.cu
// RUN: not %devsan_check --checks=device-missing-guard --torch=none --fix %t.cu -- -std=c++20 -isystem %mock -isystem %cuda_stubs
// RUN: FileCheck --check-prefix=FIXED --input-file=%t.cu %s
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

__global__ void scale(float *x, int n) {}

void switched(at::Tensor x, int mode) {
  // FIXED: {{^  }}const c10::cuda::CUDAGuard device_guard(x.device());
  // FIXED-NEXT: {{^  }}switch (mode) {
  switch (mode) {
  case 0:
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: error: {{.*}} that of 'x': no guard is live here [device-missing-guard]
    scale<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), 1);
    break;
  default: {
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: error: {{.*}} that of 'x': no guard is live here [device-missing-guard]
    scale<<<1, 2, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), 1);
  }
  }
}
void jumps(at::Tensor x) {
  // FIXED: {{^}}void jumps
  // FIXED-NOT: {{^ *const}} c10::cuda::CUDAGuard
  // FIXED: {{^}}done:
  if (!x.numel())
    goto done;
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: error: {{.*}} that of 'x': no guard is live here [device-missing-guard]
  scale<<<1, 3, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), 1);
done:
  return;
}
void twoTensors(at::Tensor x, at::Tensor y) {
  // FIXED: {{^}}void twoTensors
  // FIXED-NOT: {{^ *const}} c10::cuda::CUDAGuard
  // FIXED: {{^}}void sizes
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: error: {{.*}} that of 'x': no guard is live here [device-missing-guard]
  scale<<<1, 4, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), 1);
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: error: {{.*}} that of 'y': no guard is live here [device-missing-guard]
  scale<<<1, 5, 0, at::cuda::getCurrentCUDAStream()>>>(y.data_ptr<float>(), 1);
}
void sizes(const at::Tensor &offsets, at::Tensor y) {
  // CHECK: :[[@LINE+3]]:{{[0-9]+}}: error: {{.*}} that of 'y': no guard is live here [device-missing-guard]
  // FIXED: {{^  }}const c10::cuda::CUDAGuard device_guard(y.device());
  // FIXED-NEXT: {{^  }}scale<<<offsets
  scale<<<offsets.size(0), 6, 0, at::cuda::getCurrentCUDAStream()>>>(y.data_ptr<float>() + offsets.size(0), 1);
}
void nameIsTaken(at::Tensor x, int device_guard) {
  // FIXED: {{^}}void nameIsTaken
  // FIXED-NOT: {{^ *const}} c10::cuda::CUDAGuard
  // FIXED: {{^}}void notCaptured
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: error: {{.*}} that of 'x': no guard is live here [device-missing-guard]
  scale<<<1, 7, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), device_guard);
}
void notCaptured(at::Tensor x) {
  // FIXED-NOT: {{^ *const}} c10::cuda::CUDAGuard
  // FIXED: {{^}}void optional
  auto run = [](float *p) {
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: error: {{.*}} that of 'x': no guard is live here [device-missing-guard]
    scale<<<1, 8, 0, at::cuda::getCurrentCUDAStream()>>>(p, 1);
  };
  run(x.data_ptr<float>());
}
void optional(at::Tensor x) {
  // FIXED-NOT: {{^ *const}} c10::cuda::CUDAGuard
  // FIXED: {{^}}// end
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: error: {{.*}} that of 'x': no guard is live here [device-missing-guard]
  scale<<<1, 9, 0, at::cuda::getCurrentCUDAStream()>>>(x.defined() ? x.data_ptr<float>() : nullptr, 1);
}
// end
