// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

void library(float *x, int64_t n, cudaStream_t stream);

void withIndex(at::Tensor x) {
  library(x.data_ptr<float>(), x.numel(), at::cuda::getCurrentCUDAStream(x.get_device()));
}

at::Tensor guarded(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  library(x.data_ptr<float>(), x.numel(), at::cuda::getCurrentCUDAStream());
  return torch::zeros({4}, torch::device(x.device().type()));
}

static void inner(at::Tensor x) {
  library(x.data_ptr<float>(), x.numel(), at::cuda::getCurrentCUDAStream());
}
void outer(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  inner(x);
}

at::Tensor whole(at::Tensor x) {
  torch::Device device = x.device();
  return torch::zeros({4}, x.options()) + torch::zeros({4}, device);
}

// Asks for the kind, and keeps nothing.
bool asks(at::Tensor x, at::Tensor y) {
  return x.device().type() == torch::kCUDA && x.device().type() == y.device().type();
}

at::Tensor indexed(at::Tensor x) {
  return torch::zeros({4}, torch::Device(x.device().type(), x.device().index()));
}

// Waits only; the work is elsewhere.
void waits(at::Tensor x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  stream.synchronize();
}

// No tensor of the caller's: what is made here is on the current device too.
void made() {
  auto x = torch::zeros({4}, torch::kCUDA);
  library(x.data_ptr<float>(), x.numel(), at::cuda::getCurrentCUDAStream());
}
void own(int64_t n, cudaStream_t) {
  cudaStreamSynchronize(at::cuda::getCurrentCUDAStream());
}

// device-missing-guard asks for the guard that the launch and its stream need.
__global__ void scale(float *x);
void launches(at::Tensor x) {
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  scale<<<1, 32, 0, stream>>>(x.data_ptr<float>());
  library(x.data_ptr<float>(), x.numel(), stream);
}
