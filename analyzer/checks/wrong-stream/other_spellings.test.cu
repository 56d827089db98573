// The default stream, spelled otherwise than as a literal.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

__global__ void scale(float *x, int n) {}

void assigned(at::Tensor x) {
  cudaStream_t stream;
  stream = 0;
  // CHECK: :[[@LINE+1]]:3: {{.*}}: the kernel is launched on the default stream, while the work of 'x' is on the current one [device-wrong-stream]
  scale<<<1, 256, 0, stream>>>(x.data_ptr<float>(), x.numel());
}

void chosen(at::Tensor x, bool own) {
  cudaStream_t stream = own ? at::cuda::getCurrentCUDAStream().stream() : nullptr;
  // CHECK: :[[@LINE+1]]:3: {{.*}}: the kernel is launched on the default stream{{.*}} [device-wrong-stream]
  scale<<<1, 256, 0, stream>>>(x.data_ptr<float>(), x.numel());
}

static cudaStream_t legacy() { return nullptr; }
void helper(at::Tensor x) {
  // CHECK: :[[@LINE+1]]:3: {{.*}}: the kernel is launched on the default stream{{.*}} [device-wrong-stream]
  scale<<<1, 256, 0, legacy()>>>(x.data_ptr<float>(), x.numel());
}

void perThread(at::Tensor x) {
  // CHECK: :[[@LINE+1]]:3: {{.*}}: the kernel is launched on the default stream{{.*}} [device-wrong-stream]
  scale<<<1, 256, 0, cudaStreamPerThread>>>(x.data_ptr<float>(), x.numel());
}

// Set to the current stream in the end; filled by a call; the host's branch; a stream that a caller has.
void setLater(at::Tensor x, bool wait) {
  cudaStream_t stream = nullptr;
  if (wait)
    stream = at::cuda::getCurrentCUDAStream();
  scale<<<1, 256, 0, stream>>>(x.data_ptr<float>(), x.numel());
}
void filled(at::Tensor x) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  scale<<<1, 256, 0, stream>>>(x.data_ptr<float>(), x.numel());
}
void ofHost(at::Tensor x) {
  cudaStream_t stream = x.is_cuda() ? at::cuda::getCurrentCUDAStream().stream() : nullptr;
  scale<<<1, 256, 0, stream>>>(x.data_ptr<float>(), x.numel());
}
void given(at::Tensor x, cudaStream_t own) {
  scale<<<1, 256, 0, own ? own : nullptr>>>(x.data_ptr<float>(), x.numel());
}
static cudaStream_t current(bool none) {
  if (none)
    return nullptr;
  return at::cuda::getCurrentCUDAStream();
}
void mayBeNull(at::Tensor x) { scale<<<1, 256, 0, current(false)>>>(x.data_ptr<float>(), x.numel()); }
