// Sources for ROCm are read without a toolkit: HIP's names and LibTorch's for it mean what CUDA's do. A fix would name CUDA's.
// RUN: not %check_mock --checks=device-missing-guard,device-wrong-stream | %file_check --implicit-check-not='fix:'
#include <ATen/hip/HIPContext.h>
#include <c10/hip/HIPGuard.h>
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>
#include <hipblas/hipblas.h>
#include <hipblaslt/hipblaslt.h>
#include <torch/extension.h>

__global__ void scale(float *x, int n) {}
__global__ void round(__hip_bfloat16 *x) {}

void launches(at::Tensor x) {
  hipStream_t stream = at::hip::getCurrentHIPStream();
  // CHECK: :[[@LINE-1]]:24: error: 'stream' is the stream of the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
  scale<<<1, 64, 0, stream>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
}
void launchesByMacro(at::Tensor x) {
  hipLaunchKernelGGL(scale, dim3(1), dim3(64), 0, at::hip::getCurrentHIPStream(), x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:22: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
}
void multiplies(hipblasLtHandle_t handle, hipblasLtMatmulDesc_t operation, hipblasLtMatrixLayout_t layout, at::Tensor x) {
  const float one = 1;
  hipblasLtMatmul(handle, operation, &one, x.data_ptr(), layout, x.data_ptr(), layout, &one, x.data_ptr(), layout, x.data_ptr(), layout, nullptr, nullptr, 0, at::hip::getCurrentHIPStream());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
}
void launchesOfModule(hipFunction_t function, at::Tensor x) {
  void *arguments[] = {x.data_ptr()};
  const hipError_t error = hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, at::hip::getCurrentHIPStream(), arguments, nullptr);
  // CHECK: :[[@LINE-1]]:28: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
}
void copies(at::Tensor x, const void *memory) {
  const c10::hip::HIPGuard guard(x.device());
  hipMemcpyAsync(x.data_ptr(), memory, 64, hipMemcpyDeviceToDevice, 0);
  // CHECK: :[[@LINE-1]]:3: error: {{.*}} the default stream, while the work of 'x' is on the current one [device-wrong-stream]
}

void guards(at::Tensor x) {
  const c10::hip::OptionalHIPGuard guard(x.device());
  const hipStream_t stream = at::hip::getCurrentHIPStreamMasqueradingAsCUDA();
  hipLaunchKernelGGL(scale, dim3(1), dim3(64), 0, stream, x.data_ptr<float>(), x.numel());
  if (hipStreamSynchronize(stream) != hipSuccess)
    hipGetLastError();
}
