// What launches on PyTorch's current stream is an operator's, also where it is only given the memory of tensors.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <torch/torch.h>

__global__ void add(float *x, int n) {}

void addPartial(void *x, int n) {
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  float *partial = nullptr;
  cudaMalloc(reinterpret_cast<void **>(&partial), n);
  add<<<1, 32, 0, stream>>>(partial, n);
  cudaStreamSynchronize(stream);
  // CHECK: :[[@LINE-1]]:3: warning: 'cudaStreamSynchronize(stream)' makes the host wait for the device on every step (in the operator 'addPartial') [device-host-sync]
  cudaFree(partial);
}

// Freed in the order of the stream.
void addOrdered(void *x, int n) {
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  float *partial = nullptr;
  cudaMallocAsync(reinterpret_cast<void **>(&partial), n, stream);
  add<<<1, 32, 0, stream>>>(partial, n);
  cudaFreeAsync(partial, stream);
}

// On a stream of the caller's, whatever program that is.
void addOn(void *x, int n, cudaStream_t stream) {
  add<<<1, 32, 0, stream>>>(static_cast<float *>(x), n);
  cudaStreamSynchronize(stream);
}

// Once for each object.
struct Table {
  float *values = nullptr;
  Table(int n) {
    cudaMalloc(reinterpret_cast<void **>(&values), n);
    add<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(values, n);
    cudaStreamSynchronize(at::cuda::getCurrentCUDAStream());
  }
};
