// An override that is called only where a guard is live needs none, whatever its base is.
// RUN: rm -rf %t && split-file %s %t && mkdir %t/.git
// RUN: not %devsan_check --no-cache --checks=device-missing-guard --torch=none %t -- -I %t -isystem %mock -isystem %cuda_stubs | FileCheck %s --implicit-check-not=': error:'

//--- worker.h
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

struct Worker {
  virtual void run(float *x) = 0;
};
struct DeviceWorker : Worker {
  void run(float *x) override;
};
struct Other {
  virtual void go(float *x) = 0;
};
struct DeviceOther : Other {
  void go(float *x) override;
};

//--- workers.cu
#include "worker.h"
__global__ void scale(float *x) {}
void DeviceWorker::run(float *x) { scale<<<1, 32>>>(x); }
void DeviceOther::go(float *x) { scale<<<1, 32>>>(x); }

//--- ops.cpp
#include "worker.h"
void direct(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  DeviceWorker worker;
  worker.run(x.data_ptr<float>());
}
void through(at::Tensor x, Worker &worker) {
  const c10::cuda::CUDAGuard guard(x.device());
  worker.run(x.data_ptr<float>());
}

//--- one.cu
#include "worker.h"
__global__ void shift(float *x) {}
struct TensorWorker {
  virtual void run(at::Tensor x) = 0;
};
struct DeviceTensorWorker : TensorWorker {
  void run(at::Tensor x) override { shift<<<1, 32>>>(x.data_ptr<float>()); }
};
void onlyCaller(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  DeviceTensorWorker worker;
  worker.run(x);
}
struct BareWorker : TensorWorker {
  void run(at::Tensor bare) override { shift<<<1, 32>>>(bare.data_ptr<float>()); }
};
// CHECK: one.cu:15:{{[0-9]+}}: error: {{.*}} 'bare'
