// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cutlass/cutlass.h>
#include <torch/extension.h>

int properties(at::Tensor x) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  // CHECK: :[[@LINE-1]]:3: warning: asks device 0, while 'x' may be on another device [device-zero-properties]
  return prop.multiProcessorCount;
}

int attribute(cudaStream_t stream) {
  int device = 0, value = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device));
  // CHECK: :[[@LINE-1]]:18: warning: asks device 0, while the work may be for another device [device-zero-properties]
  return value;
}

int torchs(at::Tensor x) {
  return at::cuda::getDeviceProperties(0)->major;
  // CHECK: :[[@LINE-1]]:10: warning: asks device 0{{.*}}[device-zero-properties]
}

template <typename T> void grouped(T *out, cudaStream_t stream) {
  cutlass::KernelHardwareInfo hw_info;
  hw_info.device_id = 0;
  // CHECK: :[[@LINE-1]]:3: warning: asks device 0{{.*}}[device-zero-properties]
  hw_info.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(hw_info.device_id);
}

void asMade(at::Tensor x) {
  int count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count();
  // CHECK: :[[@LINE-1]]:15: warning: asks device 0{{.*}}[device-zero-properties]
}

static int multiprocessors(int device = 0) {
  int value = 0;
  cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device);
  return value;
}
int helper(at::Tensor x) {
  return multiprocessors();
  // CHECK: :[[@LINE-1]]:10: warning: asks device 0, while 'x'{{.*}}[device-zero-properties]
  // CHECK: :[[@LINE-6]]:3: note: asked here
}

void beforeGuard(at::Tensor x) {
  bool wide = at::cuda::getCurrentDeviceProperties()->major >= 9;
  // CHECK: :[[@LINE-1]]:15: warning: asks the device that is current before the guard is set [device-zero-properties]
  const c10::cuda::CUDAGuard guard(x.device());
}
