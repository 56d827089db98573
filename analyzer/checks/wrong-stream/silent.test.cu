// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

template <typename scalar_t> __global__ void scale(scalar_t *x, int n) {}

void current(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  scale<float><<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), x.numel());
  auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<1, 256, 0, stream.stream()>>>(x.data_ptr<scalar_t>(), x.numel());
  });
  cudaMemcpyAsync(x.data_ptr(), x.data_ptr(), 4, cudaMemcpyDeviceToDevice, stream);
  cudaMemset2DAsync(x.data_ptr(), 8, 0, 8, 0, stream);
}

// Of the tensor's device, whichever is current.
void indexed(at::Tensor x) {
  auto stream = at::cuda::getCurrentCUDAStream(x.get_device());
  const c10::cuda::CUDAGuard guard(x.device());
  scale<float><<<1, 256, 0, stream>>>(x.data_ptr<float>(), x.numel());
}

void given(at::Tensor x, cudaStream_t stream) {
  scale<float><<<1, 256, 0, stream>>>(x.data_ptr<float>(), x.numel());
}

void made(at::Tensor x) {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  scale<float><<<1, 256, 0, stream>>>(x.data_ptr<float>(), x.numel());
  cudaStream_t other = 0;
  other = at::cuda::getCurrentCUDAStream();
  scale<float><<<1, 256, 0, other>>>(x.data_ptr<float>(), x.numel());
}

// No tensor far and wide: the default stream is this program's own affair.
static void noTensor(float *x, int n) { scale<float><<<1, 256>>>(x, n); }
int main() {
  noTensor(nullptr, 0);
  scale<float><<<1, 256>>>(nullptr, 0);
}

// Waiting for the default stream puts no work on it.
void waits(at::Tensor x) { cudaStreamSynchronize(0); }

// Behind a return nothing runs, but where a label stands.
void unreachable(at::Tensor x) {
  return;
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}
