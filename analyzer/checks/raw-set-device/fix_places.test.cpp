// A guard is offered where it compiles.
// RUN: not %check_mock | %file_check
// RUN: cp %s %t.cpp
// RUN: not %devsan_check --checks=device-raw-set-device --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock -isystem %cuda_stubs
// RUN: FileCheck --check-prefix=FIXED --input-file=%t.cpp %s
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

#include <optional>

void viaOptional(const std::optional<at::Tensor> &x) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: the caller's current device is changed and not restored [device-raw-set-device]
  // FIXED: {{^  }}const c10::cuda::CUDAGuard device_guard(x->device());
  cudaSetDevice(x->get_device());
}
void viaPointer(at::Tensor *x) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: the caller's current device is changed and not restored [device-raw-set-device]
  // FIXED: {{^  }}const c10::cuda::CUDAGuard device_guard(x->device());
  cudaSetDevice(x->get_device());
}
void twice(const at::Tensor &x, const at::Tensor &y) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: the caller's current device is changed and not restored [device-raw-set-device]
  // FIXED: {{^  }}cudaSetDevice(x.get_device());
  cudaSetDevice(x.get_device());
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: the caller's current device is changed and not restored [device-raw-set-device]
  // FIXED: {{^  }}cudaSetDevice(y.get_device());
  cudaSetDevice(y.get_device());
}
void nameIsTaken(const at::Tensor &device_guard) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: the caller's current device is changed and not restored [device-raw-set-device]
  // FIXED: {{^  }}cudaSetDevice(device_guard.get_device());
  cudaSetDevice(device_guard.get_device());
}
