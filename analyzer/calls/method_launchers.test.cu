// Launchers of other files that are methods, specialisations of templates, or work through a library.
// DEFINE: %{flags} = -std=c++17 -I %t -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t && split-file %s %t && mkdir %t/.git
// RUN: not %devsan_check --checks=device-missing-guard --torch=none --strict %t/ops.cpp -- %{flags} | FileCheck %s --implicit-check-not=': error:'
// CHECK: ops.cpp:7:3: error: {{.*}} 'by_static'
// CHECK: kernels.cu:7:{{[0-9]+}}: note: launched here
// CHECK: ops.cpp:11:3: error: {{.*}} 'by_object'
// CHECK: kernels.cu:8:{{[0-9]+}}: note: launched here
// CHECK: ops.cpp:14:3: error: {{.*}} 'by_library'
// CHECK: kernels.cu:19:{{[0-9]+}}: note: launched here
// CHECK: ops.cpp:17:3: error: {{.*}} 'by_template'
// CHECK: kernels.cu:12:{{[0-9]+}}: note: launched here

//--- kernels.h
struct Scaler {
  Scaler(int steps);
  static void scale(float *x);
  void run(float *x);
  virtual void runOverridden(float *x);
};
struct Owner {
  Scaler scaler;
  Owner(int device) : scaler(device) {}
};
template <typename T> struct Filler {
  void run(T *x);
};
template <typename T> void product(const T *a, const T *b, T *c) {}
template <> void product<float>(const float *a, const float *b, float *c);
template <> void product<double>(const double *a, const double *b, double *c);

//--- kernels.cu
#include "kernels.h"
#include <ATen/cuda/CUDAContext.h>
#include <cublas_v2.h>

template <typename T> __global__ void scaleKernel(T *x) {}
Scaler::Scaler(int) {}
void Scaler::scale(float *x) { scaleKernel<<<1, 32>>>(x); }
void Scaler::run(float *x) { scaleKernel<<<1, 32>>>(x); }
void Scaler::runOverridden(float *x) { scaleKernel<<<1, 32>>>(x); }
template <typename T> void Filler<T>::run(T *x) {
  int blocks = 1;
  scaleKernel<<<blocks, 32>>>(x);
}
template struct Filler<float>;
template <> void product<float>(const float *a, const float *b, float *c) {
  const float one = 1;
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a, 8, b, 8, &one, c, 8);
}
template <> void product<double>(const double *a, const double *b, double *c) { c[0] = a[0] * b[0]; }

//--- ops.cpp
#include "kernels.h"
#include <c10/cuda/CUDAGuard.h>
#include <memory>
#include <torch/extension.h>
void overrideable(at::Tensor x, Scaler &scaler) { scaler.runOverridden(x.data_ptr<float>()); }
void staticMethod(at::Tensor by_static) {
  Scaler::scale(by_static.data_ptr<float>());
}
void method(at::Tensor by_object) {
  Scaler scaler(3);
  scaler.run(by_object.data_ptr<float>());
}
void library(at::Tensor by_library) {
  product<float>(by_library.data_ptr<float>(), by_library.data_ptr<float>(), by_library.data_ptr<float>());
}
void ofTemplate(at::Tensor by_template, Filler<float> &filler) {
  filler.run(by_template.data_ptr<float>());
}
void silent(at::Tensor x, Scaler &given) {
  product<double>(x.data_ptr<double>(), x.data_ptr<double>(), x.data_ptr<double>());
  Scaler told(x.get_device());
  told.run(x.data_ptr<float>());
  Scaler(x.get_device()).run(x.data_ptr<float>());
  auto unique = std::make_unique<Scaler>(x.get_device());
  unique->run(x.data_ptr<float>());
  (*unique).run(x.data_ptr<float>());
  unique.get()->run(x.data_ptr<float>());
  Scaler *made = new Scaler(x.get_device());
  made->run(x.data_ptr<float>());
  const int device = x.get_device();
  Owner owner(device);
  owner.scaler.run(x.data_ptr<float>());
  const c10::cuda::CUDAGuard guard(x.device());
  given.run(x.data_ptr<float>());
}
