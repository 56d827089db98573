// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

template <typename scalar_t> __global__ void scale(scalar_t *x, int n) {}

void absent(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream, while the work of 'x' is on the current one [device-wrong-stream]
  scale<float><<<1, 256, 1024>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
}

void spelledOut(at::Tensor x) {
  scale<float><<<1, 256, 0, 0>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  scale<float><<<1, 256, 0, nullptr>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  scale<float><<<1, 256, 0, at::cuda::getDefaultCUDAStream()>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  scale<float><<<1, 256, 0, at::cuda::getDefaultCUDAStream(x.get_device()).stream()>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
}

void throughVariables(at::Tensor x) {
  cudaStream_t raw = 0;
  auto stream = at::cuda::getDefaultCUDAStream();
  scale<float><<<1, 256, 0, raw>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  scale<float><<<1, 256, 0, stream>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
}

void inDispatch(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<1, 256>>>(x.data_ptr<scalar_t>(), x.numel());
    // CHECK: :[[@LINE-1]]:5: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  });
}

#define RUN_KERNEL(name, x) name<<<1, 256>>>(x.data_ptr<float>(), x.numel())
void inMacro(at::Tensor x) {
  RUN_KERNEL(scale<float>, x);
  // CHECK: :[[@LINE-3]]:33: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  // CHECK: :[[@LINE-2]]:14: note: the macro is used here
  RUN_KERNEL(scale<double>, x); // once is enough
}

// The launch is the macro's argument, not the macro's own.
#define RUN_BLOCK(...) [&] __VA_ARGS__()
void inMacroArgument(at::Tensor x) {
  RUN_BLOCK({
    scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
    // CHECK: :[[@LINE-1]]:5: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  });
}

// Raw pointers, and the callers are in other files: of a program that uses LibTorch.
static void launcher(float *x, int n) {
  scale<float><<<1, 256>>>(x, n);
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream, while the work of the caller's tensors is{{.*}}[device-wrong-stream]
}
void entry(float *x) { launcher(x, 1); }

void runtimeCalls(at::Tensor x, at::Tensor y) {
  void *args[] = {nullptr};
  cudaLaunchKernel((void *)scale<float>, 1, 256, args, 0, nullptr);
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  cudaMemcpyAsync(x.data_ptr(), y.data_ptr(), 4, cudaMemcpyDeviceToDevice);
  // CHECK: :[[@LINE-1]]:3: error: the copy or handle is put on the default stream, while the work of 'x'{{.*}}[device-wrong-stream]
  cudaMemset2DAsync(x.data_ptr(), 8, 0, 8, 4, 0);
  // CHECK: :[[@LINE-1]]:3: error: the copy or handle is put on the default stream{{.*}}[device-wrong-stream]
  cudaMemcpy2DAsync(x.data_ptr(), 8, y.data_ptr(), 8, 8, 4, cudaMemcpyDeviceToDevice);
  // CHECK: :[[@LINE-1]]:3: error: the copy or handle is put on the default stream{{.*}}[device-wrong-stream]
  cudaMemcpyToArrayAsync(nullptr, 0, 0, x.data_ptr(), 8, cudaMemcpyDeviceToDevice, 0);
  // CHECK: :[[@LINE-1]]:3: error: the copy or handle is put on the default stream{{.*}}[device-wrong-stream]
  cublasSetStream(at::cuda::getCurrentCUDABlasHandle(), 0);
  // CHECK: :[[@LINE-1]]:3: error: the copy or handle is put on the default stream{{.*}}[device-wrong-stream]
}

// Raw pointers, but of a tensor that its caller has.
void helper(float *x, int n) {
  scale<float><<<1, 256>>>(x, n);
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream, while the work of the caller's tensors is{{.*}}[device-wrong-stream]
}
void caller(at::Tensor x) { helper(x.data_ptr<float>(), x.numel()); }

void decode(float *x, cudaStream_t stream);
void passedOn(at::Tensor x) {
  decode(x.data_ptr<float>(), nullptr);
  // CHECK: :[[@LINE-1]]:3: error: the call is given the default stream, while the work of 'x'{{.*}}[device-wrong-stream]
}

void beforeGuard(at::Tensor x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  const c10::cuda::CUDAGuard guard(x.device());
  scale<float><<<1, 256, 0, stream>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: 'stream' is the stream of the device that was current before the guard, not of the tensor's device [device-wrong-stream]
  // CHECK: :[[@LINE-4]]:17: note: the stream is taken here, the guard is set later
}
