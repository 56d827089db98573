// The guard's header comes with it: behind the last include that is there whenever the launch is.
// RUN: rm -rf %t && split-file %s %t
// RUN: %devsan_check --checks=device-missing-guard --torch=none --alone --fix %t/launch.cu -- -std=c++20 -isystem %mock -isystem %cuda_stubs
// RUN: FileCheck %s --input-file=%t/launch.cu --check-prefix=CU
// CU: #include <torch/torch.h>
// CU-NEXT: #include <c10/cuda/CUDAGuard.h>
// CU-NEXT: #ifdef OTHER
// CU-NOT: CUDAGuard.h
// CU: const c10::cuda::CUDAGuard device_guard(x.device());
// CU-NEXT: scale<<<
// CU: const c10::cuda::CUDAGuard device_guard(x.device());
// CU-NEXT: scale<<<
// RUN: %devsan_check --checks=device-missing-guard --torch=none --alone %t/launch.cu -- -std=c++20 -isystem %mock -isystem %cuda_stubs

// A C++ file includes it beside other headers for CUDA only: it may be compiled without.
// RUN: not %devsan_check --checks=device-missing-guard --torch=none --fix %t/host.cpp -- -std=c++20 -isystem %mock -isystem %cuda_stubs
// RUN: FileCheck %s --input-file=%t/host.cpp --check-prefix=HOST --implicit-check-not=CUDAGuard
// HOST: void hostLaunch
// RUN: %devsan_check --checks=device-missing-guard --torch=none --fix %t/with_cuda.cpp -- -std=c++20 -DWITH_CUDA -isystem %mock -isystem %cuda_stubs
// RUN: FileCheck %s --input-file=%t/with_cuda.cpp --check-prefix=CPP
// CPP: #include <cuda_runtime.h>
// CPP-NEXT: #include <c10/cuda/CUDAGuard.h>
// CPP-NEXT: #include "launchers.h"
// CPP: const c10::cuda::CUDAGuard device_guard(x.device());
// CPP-NEXT: launchScale(

//--- launch.cu
#include <torch/torch.h>
#ifdef OTHER
#include <vector>
#endif

__global__ void scale(float *x, int n) {}

void launch(at::Tensor x) {
  scale<<<1, 32>>>(x.data_ptr<float>(), x.numel());
}
void launchAgain(at::Tensor x) {
  scale<<<1, 32>>>(x.data_ptr<float>(), x.numel());
}
#include <algorithm>

//--- launchers.h
#include <cuda_runtime.h>
__global__ void scale(float *x, int n);
inline void launchScale(float *x, int n) {
  cudaLaunchKernel((const void *)&scale, dim3(1), dim3(32), nullptr, 0, nullptr);
}

//--- host.cpp
#include "launchers.h"
#include <torch/torch.h>
void hostLaunch(at::Tensor x) { launchScale(x.data_ptr<float>(), x.numel()); }

//--- with_cuda.cpp
#include <torch/torch.h>
#ifdef WITH_CUDA
#include <cuda_runtime.h>
#include "launchers.h"
void hostLaunch(at::Tensor x) {
  launchScale(x.data_ptr<float>(), x.numel());
}
#endif
