// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

#include <vector>

int waits(const int *counts, cudaStream_t stream) {
  int count;
  cudaMemcpyAsync(&count, counts, sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  return count;
}

static void finish(cudaStream_t stream) { C10_CUDA_CHECK(cudaStreamSynchronize(stream)); }
int waitsInHelper(const int *counts, cudaStream_t stream) {
  int count;
  cudaMemcpyAsync(&count, counts, sizeof(int), cudaMemcpyDeviceToHost, stream);
  finish(stream);
  return count;
}

// What the function does is not to be seen.
void elsewhere(cudaStream_t stream);
int mayWait(const int *counts, cudaStream_t stream) {
  int count;
  cudaMemcpyAsync(&count, counts, sizeof(int), cudaMemcpyDeviceToHost, stream);
  elsewhere(stream);
  return count;
}

int otherBranch(const int *counts, cudaStream_t stream, bool device) {
  int count = 0;
  if (device) {
    cudaMemcpyAsync(&count, counts, sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
  } else {
    count = counts[0];
  }
  return count;
}

// The caller waits.
void given(int *host, const int *counts, cudaStream_t stream) {
  cudaMemcpyAsync(host, counts, sizeof(int), cudaMemcpyDeviceToHost, stream);
}

// One stream runs in order.
void staged(float *staging, at::Tensor source, at::Tensor target, cudaStream_t stream) {
  cudaMemcpyAsync(staging, source.data_ptr(), 64, cudaMemcpyDeviceToHost, stream);
  cudaMemcpyAsync(target.data_ptr(), staging, 64, cudaMemcpyHostToDevice, stream);
}

// The other stream waits.
void ordered(float *staging, at::Tensor x, cudaStream_t from, cudaStream_t to, cudaEvent_t event) {
  cudaMemcpyAsync(staging, x.data_ptr(), 64, cudaMemcpyDeviceToHost, from);
  cudaEventRecord(event, from);
  cudaStreamWaitEvent(to, event, 0);
  cudaMemcpyAsync(x.data_ptr(), staging, 64, cudaMemcpyHostToDevice, to);
}

// Another part of the buffers.
void parts(std::vector<void *> &staging, at::Tensor x, cudaStream_t from, cudaStream_t to) {
  cudaMemcpyAsync(staging[0], x.data_ptr(), 64, cudaMemcpyDeviceToHost, from);
  cudaMemcpyAsync(x.data_ptr(), staging[1], 64, cudaMemcpyHostToDevice, to);
}

float tensors(at::Tensor x) {
  auto host = x.to(torch::kCPU, torch::kFloat, /*non_blocking=*/true);
  const float *data = host.data_ptr<float>();
  at::cuda::getCurrentCUDAStream().synchronize();
  return host.item<float>() + data[0];
}

at::Tensor toDevice(at::Tensor x, at::Tensor y) {
  auto moved = x.to(y.device(), torch::kFloat, /*non_blocking=*/true);
  return moved + y;
}
