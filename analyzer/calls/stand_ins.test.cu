// A body that only fails stands in for the launcher in builds without CUDA: it is no second function of that name.
// DEFINE: %{check} = %devsan_check --checks=device-missing-guard --torch=none --no-cache
// DEFINE: %{flags} = -std=c++17 -I %t -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t && split-file %s %t && mkdir %t/.git
// RUN: not %{check} --strict %t -- %{flags} | FileCheck %s --implicit-check-not=': error:'
// CHECK: ops.cpp:4:3: error: {{.*}} 'thrown'
// CHECK: kernels.cu:5:{{[0-9]+}}: note: launched here
// CHECK: ops.cpp:7:3: error: {{.*}} 'checked'
// CHECK: kernels.cu:6:{{[0-9]+}}: note: launched here
// CHECK: ops.cpp:10:3: error: {{.*}} 'logged'
// CHECK: kernels.cu:7:{{[0-9]+}}: note: launched here

// All callers of the one that launches set a guard.
// RUN: %{check} --strict %t/tensors.cu -- %{flags} | FileCheck %s --check-prefix=GUARDED
// GUARDED: no findings

//--- kernels.h
template <typename T> struct Filler {
  void run(T *x);
};
void fillChecked(float *x);
void fillLogged(float *x);
void fillOnHost(float *x);

//--- kernels.cu
#include "kernels.h"
#include <cuda_runtime.h>

template <typename T> __global__ void fill(T *x) {}
template <typename T> void Filler<T>::run(T *x) { fill<<<1, 32>>>(x); }
void fillChecked(float *x) { fill<<<1, 32>>>(x); }
void fillLogged(float *x) { fill<<<1, 32>>>(x); }
void fillOnHost(float *x) { fill<<<1, 32>>>(x); }
template struct Filler<float>;

//--- without_cuda.cpp
#include "kernels.h"
#include <torch/extension.h>
#include <stdexcept>

template <typename T> void Filler<T>::run(T *x) { throw std::runtime_error("built without CUDA"); }
void fillChecked(float *x) { TORCH_CHECK(false, "built without CUDA"); }
void log(const char *text);
void fillLogged(float *x) {
  const char *text = "built without CUDA";
  log(text);
  AT_ERROR(text);
}
void fillOnHost(float *x) {
  TORCH_CHECK(x, "no memory");
  x[0] = 0;
}
template struct Filler<float>;

//--- ops.cpp
#include "kernels.h"
#include <torch/extension.h>
void thrown(at::Tensor thrown, Filler<float> &filler) {
  filler.run(thrown.data_ptr<float>());
}
void checked(at::Tensor checked) {
  fillChecked(checked.data_ptr<float>());
}
void logged(at::Tensor logged) {
  fillLogged(logged.data_ptr<float>());
}
void onHost(at::Tensor x) { fillOnHost(x.data_ptr<float>()); }

//--- tensors.cu
#include <ATen/ATen.h>
__global__ void scale(float *x) {}
void scaleCuda(at::Tensor x) { scale<<<1, 32>>>(x.data_ptr<float>()); }

//--- tensors.cpp
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>
void scaleCuda(at::Tensor x);
void scaled(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  scaleCuda(x);
}

//--- tensors_without_cuda.cpp
#include <torch/extension.h>
void scaleCuda(at::Tensor x) { AT_ERROR("built without CUDA"); }
