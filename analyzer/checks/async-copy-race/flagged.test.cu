// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

#include <vector>

__global__ void kernel(float *x) {}

int stack(at::Tensor x, const int *counts) {
  int count;
  auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "count", [&] {
    cudaMemcpyAsync(&count, counts, sizeof(int), cudaMemcpyDeviceToHost, stream);
    // CHECK: :[[@LINE-1]]:5: error: the host uses 'count' before it has waited for this copy [device-async-copy-race]
  });
  return count;
  // CHECK: :[[@LINE-1]]:10: note: used here
}

int vector(const int *counts, cudaStream_t stream) {
  std::vector<int> host(4);
  C10_CUDA_CHECK(cudaMemcpyAsync(host.data(), counts, 16, cudaMemcpyDeviceToHost, stream));
  // CHECK: :[[@LINE-1]]:18: error: the host uses 'host' before{{.*}}[device-async-copy-race]
  // CHECK: note: used here
  kernel<<<1, 1, 0, stream>>>(nullptr);
  return host[0] + 1;
}

__device__ int total;
int symbol(int *left, const int *right, cudaStream_t stream) {
  std::vector<int> host(1);
  cudaMemcpyFromSymbolAsync(host.data(), total, sizeof(int), 0, cudaMemcpyDeviceToHost, stream);
  // CHECK: :[[@LINE-1]]:3: error: the host uses 'host' before{{.*}}[device-async-copy-race]
  // CHECK: note: used here
  cudaMemcpyPeer(left, 0, right, 1, sizeof(int)); // the host does not wait for that stream
  return host[0];
}

int rows(const int *counts, cudaStream_t stream) {
  std::vector<int> host(4);
  cudaMemcpy2DAsync(host.data(), 8, counts, 512, 8, 2, cudaMemcpyDeviceToHost, stream);
  // CHECK: :[[@LINE-1]]:3: error: the host uses 'host' before{{.*}}[device-async-copy-race]
  // CHECK: note: used here
  return host[0];
}

struct Context {
  std::vector<void *> staging;
  cudaStream_t streams[4];
};

// The staging buffer is read by a stream that knows nothing of the one that fills it.
void broadcast(Context *context, int buffer, at::Tensor source, at::Tensor target) {
  cudaStream_t from = at::cuda::getCurrentCUDAStream();
  cudaMemcpyAsync(context->staging[buffer], source.data_ptr(), 64, cudaMemcpyDeviceToHost, from);
  // CHECK: :[[@LINE-1]]:3: error: another stream reads 'staging' without having waited for this copy [device-async-copy-race]
  cudaStream_t to = context->streams[1];
  cudaMemcpyAsync(target.data_ptr(), context->staging[buffer], 64, cudaMemcpyHostToDevice, to);
  // CHECK: :[[@LINE-1]]:3: note: used here
}

float tensors(at::Tensor x) {
  auto host = x.to(torch::kCPU, torch::kFloat, /*non_blocking=*/true);
  // CHECK: :[[@LINE-1]]:15: error: the host uses 'host' before{{.*}}[device-async-copy-race]
  // CHECK: note: used here
  return host.item<float>();
}

float pointer(at::Tensor x) {
  auto host = x.to(torch::kCPU, torch::kFloat, /*non_blocking=*/true);
  // CHECK: :[[@LINE-1]]:15: error: the host uses 'host' before{{.*}}[device-async-copy-race]
  // CHECK: note: used here
  const float *data = host.data_ptr<float>();
  return data[0];
}
