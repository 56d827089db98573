// Libraries that launch kernels of their own.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

#include <cub/cub.cuh>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

void thrustSorts(at::Tensor x) {
  float *data = x.data_ptr<float>();
  const int n = x.numel();
  auto stream = at::cuda::getCurrentCUDAStream();
  thrust::sort(thrust::device, data, data + n);
  // CHECK: :[[@LINE-1]]:3: error: the algorithm runs on the default stream, while the work of 'x' is on the current one [device-wrong-stream]
  thrust::sort(thrust::cuda::par, data, data + n);
  // CHECK: :[[@LINE-1]]:3: error: the algorithm runs on the default stream{{.*}}[device-wrong-stream]
  thrust::sort(thrust::cuda::par(stream), data, data + n);
  // CHECK: :[[@LINE-1]]:3: error: the algorithm runs on the default stream{{.*}}[device-wrong-stream]
  thrust::sort(thrust::cuda::par.on(stream), data, data + n);
  thrust::sort(thrust::cuda::par(stream).on(stream), data, data + n);
  thrust::sort(thrust::host, data, data + n);
}

void cubScans(at::Tensor x) {
  const float *in = x.data_ptr<float>();
  auto out = torch::empty_like(x);
  std::size_t bytes = 0;
  void *memory = nullptr;
  // The first call only asks for a size.
  cub::DeviceScan::InclusiveSum(memory, bytes, in, out.data_ptr<float>(), x.numel());
  cub::DeviceScan::InclusiveSum(nullptr, bytes, in, out.data_ptr<float>(), x.numel());
  cudaMalloc(&memory, bytes);
  cub::DeviceScan::InclusiveSum(memory, bytes, in, out.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the algorithm runs on the default stream, while the work of 'x' is on the current one [device-wrong-stream]
  cub::DeviceScan::InclusiveSum(memory, bytes, in, out.data_ptr<float>(), x.numel(), at::cuda::getCurrentCUDAStream());
}

// A launcher of the project's own, made for a problem that is the template's.
template <typename Kernel> struct Operation {
  int initialize(const float *x);
  static int run(int parameters, cudaStream_t stream = nullptr);
  int run(cudaStream_t stream = nullptr) { return run(0, stream); }
  int operator()(cudaStream_t stream = nullptr) { return run(stream); }
};
template <typename T> int runs(at::Tensor x, cudaStream_t stream) {
  using Chosen = Operation<T>;
  Chosen op;
  op.initialize(x.data_ptr<float>());
  op.run(stream);
  return op.run();
  // CHECK: :[[@LINE-1]]:10: error: the call is given the default stream, while the work of 'x'{{.*}}[device-wrong-stream]
}
void calls(at::Tensor x) {
  Operation<float> op;
  op.initialize(x.data_ptr<float>());
  op();
  // CHECK: :[[@LINE-1]]:3: error: the call is given the default stream{{.*}}[device-wrong-stream]
  op(at::cuda::getCurrentCUDAStream());
}

__global__ void scale(float *x, int n) {}
void byConfiguration(at::Tensor x) {
  cudaLaunchConfig_t current = {};
  current.stream = at::cuda::getCurrentCUDAStream();
  cudaLaunchKernelEx(&current, scale, x.data_ptr<float>(), 1);
  cudaLaunchConfig_t legacy = {};
  legacy.stream = 0;
  cudaLaunchKernelEx(&legacy, scale, x.data_ptr<float>(), 1);
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
}

void clears(at::Tensor x) {
  cudaMemset(x.data_ptr(), 0, 4);
  // CHECK: :[[@LINE-1]]:3: error: the copy or handle is put on the default stream{{.*}}[device-wrong-stream]
}

// Memory is ordered by a stream, not worked on; and a stream that is not looked at does no harm.
struct Allocator {
  void *allocate(std::size_t bytes, cudaStream_t stream = 0);
};
int ignoresStream(const float *x, cudaStream_t stream = 0) { return 1; }
void allocates(at::Tensor x, Allocator &allocator) {
  allocator.allocate(4);
  ignoresStream(x.data_ptr<float>());
}
