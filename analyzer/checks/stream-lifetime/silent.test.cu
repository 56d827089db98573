// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

__global__ void kernel(float *x) {}

void recorded(at::Tensor x) {
  auto side = at::cuda::getStreamFromPool();
  auto scratch = torch::empty({1024}, x.options());
  kernel<<<1, 256, 0, side>>>(scratch.data_ptr<float>());
  scratch.record_stream(side);
}

void waits(at::Tensor x) {
  auto side = at::cuda::getStreamFromPool();
  auto scratch = torch::empty({1024}, x.options());
  kernel<<<1, 256, 0, side>>>(scratch.data_ptr<float>());
  side.synchronize();
}

void joins(at::Tensor x, cudaEvent_t event) {
  auto side = at::cuda::getStreamFromPool();
  auto scratch = torch::empty({1024}, x.options());
  kernel<<<1, 256, 0, side>>>(scratch.data_ptr<float>());
  cudaEventRecord(event, side);
  cudaStreamWaitEvent(at::cuda::getCurrentCUDAStream(), event, 0);
}

// The caller's tensors, and what is given to the caller, live on.
at::Tensor returned(at::Tensor x) {
  auto side = at::cuda::getStreamFromPool();
  auto out = torch::empty({1024}, x.options());
  kernel<<<1, 256, 0, side>>>(out.data_ptr<float>());
  kernel<<<1, 256, 0, side>>>(x.data_ptr<float>());
  return out;
}

// Memory of the side stream itself.
void allocatedThere(at::Tensor x) {
  at::cuda::CUDAStream side = at::cuda::getStreamFromPool();
  c10::cuda::CUDAStreamGuard guard(side);
  auto scratch = torch::empty({1024}, x.options());
  x.add_(scratch);
}

void current(at::Tensor x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  auto scratch = torch::empty({1024}, x.options());
  kernel<<<1, 256, 0, stream>>>(scratch.data_ptr<float>());
}

struct Holder {
  at::Tensor kept;
  void keep(at::Tensor x) {
    auto side = at::cuda::getStreamFromPool();
    auto scratch = torch::empty({1024}, x.options());
    kernel<<<1, 256, 0, side>>>(scratch.data_ptr<float>());
    kept = scratch;
  }
};
