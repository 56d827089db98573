// Kernels in a file that knows nothing of LibTorch: whoever has the tensors is in another file, or says which stream to use.
// DEFINE: %{check} = env XDG_CACHE_HOME=%t.cache %devsan_check --checks=device-wrong-stream --torch=none
// DEFINE: %{flags} = -I %t -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t %t.cache && split-file %s %t && mkdir %t/.git

// RUN: not %{check} %t -- %{flags} | FileCheck %s --check-prefix=ALL --implicit-check-not=': error:'
// ALL: kernels.cu:6:{{[0-9]+}}: error: the kernel is launched on the default stream, while the work of the caller's tensors is on the current one
// ALL: kernels.cu:7:{{[0-9]+}}: error: {{.*}}the caller's tensors
// ALL: kernels.cu:10:{{[0-9]+}}: error: the kernel is launched on the default stream, while the caller gave 'stream'
// ALL: kernels.cu:58:{{[0-9]+}}: error: {{.*}}the caller gave 'constant'
// ALL: kernels.cu:62:{{[0-9]+}}: error: {{.*}}the caller's tensors
// ALL: kernels.cu:63:{{[0-9]+}}: error: {{.*}}the caller's tensors
// ALL: 2 files: 6 findings {{.*}}, 1 suppressed

// By itself the file is part of its project, unless that is excluded.
// RUN: not %{check} %t/kernels.cu -- %{flags} | FileCheck %s --check-prefix=PART --implicit-check-not=': error:'
// PART: kernels.cu:6:{{[0-9]+}}: error:
// PART: kernels.cu:7:{{[0-9]+}}: error:
// PART: kernels.cu:10:{{[0-9]+}}: error:
// PART: kernels.cu:58:{{[0-9]+}}: error:
// PART: kernels.cu:62:{{[0-9]+}}: error:
// PART: kernels.cu:63:{{[0-9]+}}: error:
// RUN: not %{check} --alone %t/kernels.cu -- %{flags} | FileCheck %s --check-prefix=ALONE --implicit-check-not=': error:'
// ALONE: kernels.cu:10:{{[0-9]+}}: error:
// ALONE: kernels.cu:58:{{[0-9]+}}: error:

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
// Which stream to take these find out themselves.
void launchAndMake(float *x, cudaStream_t &made) {
  scale<<<1, 32>>>(x);
  cudaStreamCreate(&made);
}
void launchOnOther(float *x, cudaStream_t own) {
  scale<<<1, 32>>>(x);
  cudaStreamCreate(&own);
}
void take(cudaStream_t &stream);
void launchOnTaken(float *x, cudaStream_t taken) {
  take(taken);
  scale<<<1, 32>>>(x);
}
void launchOnSet(float *x, cudaStream_t set) {
  set = nullptr;
  scale<<<1, 32>>>(x);
}
void launchOnAny(float *x, cudaStream_t wanted) {
  if (wanted)
    scale<<<1, 32, 0, wanted>>>(x);
  else
    scale<<<1, 32>>>(x);
}
void launchOnCompared(float *x, cudaStream_t compared) {
  const bool has = compared != nullptr;
  if (!has)
    scale<<<1, 32>>>(x);
}
bool isReady(cudaStream_t stream);
void launchWhenReady(float *x, cudaStream_t asked) {
  while (isReady(asked))
    scale<<<1, 32>>>(x);
}
void launchUnnamed(float *x, cudaStream_t) { scale<<<1, 32>>>(x); }
void launchOnConst(float *x, const cudaStream_t &constant) {
  scale<<<1, 32>>>(x);
  if (cudaMemsetAsync(x, 0, 4, constant) != cudaSuccess)
    return;
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
