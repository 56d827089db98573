// A name that stands everywhere ends the search for who calls it, not that for the callers of other functions.
// DEFINE: %{check} = env XDG_CACHE_HOME=%t.cache %devsan_check --checks=device-wrong-stream,device-missing-guard --torch=none
// DEFINE: %{flags} = -I %t -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t %t.cache && split-file %s %t && mkdir %t/torch/.git && mv %t/worker.h %t/worker.cu %t/torch
// RUN: %python -c "import sys; [open(f'{sys.argv[1]}/user{i}.cpp', 'w').write('void run();') for i in range(65)]" %t/torch

// RUN: %{check} %t/torch/ops.cu %t/torch/worker.cu -- %{flags} | FileCheck %s
// CHECK: 2 files: no findings

//--- worker.h
struct Worker {
  virtual void run(float *x) = 0;
};
struct DeviceWorker : Worker {
  void run(float *x) override;
};

//--- worker.cu
#include "worker.h"
#include <cuda_runtime.h>
__global__ void scale(float *x) {}
void DeviceWorker::run(float *x) { scale<<<1, 32>>>(x); }

//--- torch/ops.h
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>
void launchGuarded(at::Tensor x);

//--- torch/ops.cu
#include "ops.h"
__global__ void scale(float *x) {}
void launchGuarded(at::Tensor x) { scale<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>()); }

//--- torch/callers.cpp
#include "ops.h"
#include <c10/cuda/CUDAGuard.h>
void op(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  launchGuarded(x);
}
