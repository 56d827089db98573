// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

__global__ void kernel(float *x) {}

void launched(at::Tensor x) {
  auto side = at::cuda::getStreamFromPool();
  auto scratch = torch::empty({1024}, x.options());
  kernel<<<1, 256, 0, side>>>(scratch.data_ptr<float>());
  // CHECK: :[[@LINE-1]]:3: error: 'scratch' is used on 'side' and released at the end of the function, which does not wait for that stream [device-stream-lifetime]
}

void underGuard(at::Tensor x, at::Tensor &out) {
  at::cuda::CUDAStream side = at::cuda::getStreamFromPool();
  auto scratch = torch::zeros({1024}, x.options());
  {
    c10::cuda::CUDAStreamGuard guard(side);
    out.add_(scratch);
    // CHECK: :[[@LINE-1]]:14: error: 'scratch' is used on 'side'{{.*}}[device-stream-lifetime]
  }
}

// The stream that the memory is of anyway.
void wrongStream(at::Tensor x) {
  cudaStream_t side;
  cudaStreamCreate(&side);
  auto scratch = torch::empty({1024}, x.options());
  float *data = scratch.data_ptr<float>();
  kernel<<<1, 256, 0, side>>>(data);
  // CHECK: :[[@LINE-1]]:3: error: 'scratch' is used on 'side'{{.*}}[device-stream-lifetime]
  scratch.record_stream(at::cuda::getCurrentCUDAStream());
  // CHECK: :[[@LINE-1]]:3: note: the stream recorded here is the one that it was made on
}
