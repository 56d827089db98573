// RUN: not %check_mock | %file_check
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/torch.h>

void plain(at::Tensor x) {
  cudaSetDevice(x.get_device());
  // CHECK: :[[@LINE-1]]:3: warning: the caller's current device is changed and not restored [device-raw-set-device]
}

void checked(int device) {
  C10_CUDA_CHECK(cudaSetDevice(device));
  // CHECK: :[[@LINE-1]]:18: warning: the caller's current device{{.*}}[device-raw-set-device]
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  plain({});
}

void torchs(at::Tensor x) {
  c10::cuda::set_device(x.get_device());
  // CHECK: :[[@LINE-1]]:3: warning: the caller's current device{{.*}}[device-raw-set-device]
}

// Restored at the end, but not on the way out in between.
int earlyReturn(at::Tensor x) {
  int previous;
  cudaGetDevice(&previous);
  cudaSetDevice(x.get_device());
  // CHECK: :[[@LINE-1]]:3: warning: the caller's current device{{.*}}[device-raw-set-device]
  if (x.numel() == 0)
    return 0;
  cudaSetDevice(previous);
  return 1;
}

// Sets another device again after it has restored.
void twice(at::Tensor x, at::Tensor y) {
  const auto previous = c10::cuda::current_device();
  c10::cuda::set_device(x.get_device());
  c10::cuda::set_device(previous);
  c10::cuda::set_device(y.get_device());
  // CHECK: :[[@LINE-1]]:3: warning: the caller's current device{{.*}}[device-raw-set-device]
}
