// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cutlass/cutlass.h>
#include <torch/extension.h>

int ofTensor(at::Tensor x) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, x.get_device());
  return prop.multiProcessorCount;
}

int ofCurrent(cudaStream_t stream) {
  int device = 0, value = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device);
  return value;
}

int underGuard(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  return at::cuda::getCurrentDeviceProperties()->major;
}

void all() {
  int count = 0;
  cudaGetDeviceCount(&count);
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp prop;
    cudaGetDeviceProperties(&prop, i);
  }
}

int given(int device) {
  cutlass::KernelHardwareInfo hw_info;
  hw_info.device_id = device;
  return cutlass::KernelHardwareInfo::query_device_multiprocessor_count(hw_info.device_id);
}

// It works on device 0, and says so.
void chosen() {
  cudaSetDevice(0);
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
}
