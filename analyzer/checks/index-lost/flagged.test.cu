// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

void library(float *x, int64_t n, cudaStream_t stream);

void stream(at::Tensor x) {
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  // CHECK: :[[@LINE-1]]:25: error: the stream is of the current device, which need not be that of 'x': no guard is live here [device-index-lost]
  library(x.data_ptr<float>(), x.numel(), stream);
}

void inPlace(at::Tensor x) {
  library(x.data_ptr<float>(), x.numel(), at::cuda::getCurrentCUDAStream());
  // CHECK: :[[@LINE-1]]:43: error: the stream is of the current device{{.*}}[device-index-lost]
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
