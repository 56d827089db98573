// Kernels in a file that knows nothing of LibTorch: whoever has the tensors is in another file, or says which stream to use.
// DEFINE: %{check} = env XDG_CACHE_HOME=%t.cache %devsan_check --checks=device-wrong-stream --torch=none
// DEFINE: %{flags} = -I %t -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t %t.cache && split-file %s %t && mkdir %t/.git

// RUN: not %{check} %t -- %{flags} | FileCheck %s --check-prefix=ALL --implicit-check-not=': error:'
// ALL: kernels.cu:6:{{[0-9]+}}: error: the kernel is launched on the default stream, while the work of the caller's tensors is on the current one
// ALL: kernels.cu:7:{{[0-9]+}}: error: {{.*}}the caller's tensors
// ALL: kernels.cu:10:{{[0-9]+}}: error: the kernel is launched on the default stream, while the caller gave 'stream'
// ALL: kernels.cu:22:{{[0-9]+}}: error: {{.*}}the caller's tensors
// ALL: kernels.cu:23:{{[0-9]+}}: error: {{.*}}the caller's tensors
// ALL: 2 files: 5 findings {{.*}}, 1 suppressed

// By itself the file is part of its project, unless that is excluded.
// RUN: not %{check} %t/kernels.cu -- %{flags} | FileCheck %s --check-prefix=PART --implicit-check-not=': error:'
// PART: kernels.cu:6:{{[0-9]+}}: error:
// PART: kernels.cu:7:{{[0-9]+}}: error:
// PART: kernels.cu:10:{{[0-9]+}}: error:
// PART: kernels.cu:22:{{[0-9]+}}: error:
// PART: kernels.cu:23:{{[0-9]+}}: error:
// RUN: not %{check} --alone %t/kernels.cu -- %{flags} | FileCheck %s --check-prefix=ALONE --implicit-check-not=': error:'
// ALONE: kernels.cu:10:{{[0-9]+}}: error:

//--- kernels.h
#include <cuda_runtime.h>

void launchForTensors(float *x);
void launchBehind(float *x);
void launchOnGiven(float *x, cudaStream_t stream);
void launchSuppressed(float *x);
void launchObeying(float *x, cudaStream_t stream);
void launchForNumbers(float *x);
void launchMacroForTensors(float *x);

struct Worker {
  virtual ~Worker() = default;
  virtual void run(float *x) = 0;
};
struct DeviceWorker : Worker {
  void run(float *x) override;
};

//--- kernels.cu
#include "kernels.h"

__global__ void scale(float *x) {}
__global__ void shift(float *x) {}

void launchForTensors(float *x) { scale<<<1, 32>>>(x); }
static void launchInner(float *x) { shift<<<1, 32, 0, nullptr>>>(x); }
void launchBehind(float *x) { launchInner(x); }
void launchOnGiven(float *x, cudaStream_t stream) {
  scale<<<1, 32>>>(x);
}
void launchSuppressed(float *x) {
  scale<<<1, 32>>>(x); // NOLINT(device-wrong-stream): the program has one stream
}
void launchObeying(float *x, cudaStream_t stream) { scale<<<1, 32, 0, stream>>>(x); }
// Nobody calls these for tensors.
void launchForNumbers(float *x) { scale<<<1, 32>>>(x); }
void copyBeside(float *x, float *y, cudaStream_t stream) {
  cudaMemcpy(x, y, 4, cudaMemcpyDeviceToHost);
  scale<<<1, 32, 0, stream>>>(x);
}
void DeviceWorker::run(float *x) { scale<<<1, 32>>>(x); }
#define LAUNCH(kernel, x) kernel<<<1, 32>>>(x)
void launchMacroForTensors(float *x) { LAUNCH(scale, x); }
void launchMacroForNumbers(float *x) { LAUNCH(scale, x); }
#define LAUNCH_FOR_NUMBERS(kernel, x) kernel<<<1, 32>>>(x)
void launchOtherForNumbers(float *x) { LAUNCH_FOR_NUMBERS(scale, x); }

//--- ops.cpp
#include "kernels.h"
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

void op(at::Tensor x, Worker &worker) {
  worker.run(x.data_ptr<float>());
  launchForTensors(x.data_ptr<float>());
  launchBehind(x.data_ptr<float>());
  launchMacroForTensors(x.data_ptr<float>());
  launchSuppressed(x.data_ptr<float>());
  launchOnGiven(x.data_ptr<float>(), at::cuda::getCurrentCUDAStream());
  launchObeying(x.data_ptr<float>(), at::cuda::getCurrentCUDAStream());
}
