// Functions of a large library call each other in more ways than can be followed one by one.
// RUN: rm -rf %t && mkdir -p %t && %python %S/many_calls.py %t/library.h && cp %s %t/a.cu
// RUN: not %devsan_check --alone --no-cache --torch=none --timeout=10 --checks=device-missing-guard,device-wrong-stream,device-raw-set-device %t/a.cu -- -isystem %mock -I%t | FileCheck %s --implicit-check-not='[device-'
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>

#include "library.h"

__global__ void scale(float *x) {}
void last(float *x) { scale<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x); }
void call(at::Tensor x) {
  f0_0(x.data_ptr<float>());
  // CHECK: :[[@LINE+1]]:3: error: {{.*}} no guard is live here [device-missing-guard]
  last(x.data_ptr<float>());
}
