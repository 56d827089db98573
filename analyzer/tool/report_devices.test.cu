// The same of CUDA's work: the kernel or function that is called.
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/x.cu
// RUN: not %check_mock --format=json -o %t/report.json
// RUN: %python %S/report_devices.py %t/report.json | sort -n | FileCheck %s --implicit-check-not=device-
#include <ATen/cuda/CUDAContext.h>
#include <torch/torch.h>

namespace ns {
namespace {
template <typename T> __global__ void scale(T *data, int n) {}
} // namespace

template <typename T> void launchAny(at::Tensor x) {
  // CHECK: [[#@LINE+1]] device-wrong-stream ns::(anonymous namespace)::scale: ? to ?
  scale<T><<<1, 32>>>(x.data_ptr<T>(), 3);
}

void launchBare(at::Tensor x) {
  // CHECK: [[#@LINE+1]] device-missing-guard ns::(anonymous namespace)::scale: ? to ?
  scale<float><<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), 3);
}

void launch(at::Tensor x) {
  // CHECK: [[#@LINE+1]] device-raw-set-device cudaSetDevice: ? to ?
  cudaSetDevice(x.get_device());
  // CHECK: [[#@LINE+1]] device-wrong-stream ns::(anonymous namespace)::scale: ? to ?
  scale<float><<<1, 32>>>(x.data_ptr<float>(), 3);
  // CHECK: [[#@LINE+1]] device-wrong-stream cudaMemsetAsync: ? to ?
  cudaMemsetAsync(x.data_ptr<float>(), 0, 12, 0);
  launchAny<float>(x);
}

at::Tensor indexLost(at::Tensor x) {
  // CHECK: [[#@LINE+1]] device-index-lost ?: ? to ?
  return torch::zeros({3}, torch::device(x.device().type()));
}

at::Tensor onTheCurrentOne(at::Tensor x) {
  // CHECK: [[#@LINE+1]] device-index-lost ?: cuda to ?
  return torch::zeros({3}, torch::device(x.is_cuda() ? torch::kCUDA : torch::kCPU));
}
} // namespace ns
