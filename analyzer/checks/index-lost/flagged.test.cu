// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

void stream(at::Tensor x, const float *from) {
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  // CHECK: :[[@LINE-1]]:25: error: the stream is of the current device, which need not be that of 'x': no guard is live here [device-index-lost]
  cudaMemcpyAsync(x.data_ptr<float>(), from, 4, cudaMemcpyHostToDevice, stream);
}

void inPlace(at::Tensor x, const float *from) {
  cudaMemcpyAsync(x.data_ptr<float>(), from, 4, cudaMemcpyHostToDevice, at::cuda::getCurrentCUDAStream());
  // CHECK: :[[@LINE-1]]:73: error: the stream is of the current device{{.*}}[device-index-lost]
}

at::Tensor kind(at::Tensor x) {
  auto mask = torch::zeros({4}, torch::dtype(torch::kFloat).device(x.device().type()));
  // CHECK: :[[@LINE-1]]:68: error: the device of 'x' loses its index: no guard is live here [device-index-lost]
  return x + mask;
}

at::Tensor built(at::Tensor x) {
  torch::Device device(x.device().type());
  // CHECK: :[[@LINE-1]]:24: error: the device of 'x' loses its index{{.*}}[device-index-lost]
  return torch::zeros({4}, device);
}

at::Tensor chosen(at::Tensor x) {
  auto device = x.is_cuda() ? torch::kCUDA : torch::kCPU;
  // CHECK: :[[@LINE-1]]:17: error: 'x' may be on a device with another index{{.*}}[device-index-lost]
  return torch::zeros({4}, torch::device(device));
}

at::Tensor options(at::Tensor x) {
  return torch::zeros({4}, x.type().options());
  // CHECK: :[[@LINE-1]]:28: error: 'x.type()' keeps the kind of the device and loses its index{{.*}}[device-index-lost]
}

at::Tensor legacy(at::Tensor x) {
  cudaSetDevice(x.get_device());
  return torch::empty({4}, x.type());
  // CHECK: :[[@LINE-1]]:28: error: 'x.type()' keeps the kind of the device and loses its index{{.*}}[device-index-lost]
}
