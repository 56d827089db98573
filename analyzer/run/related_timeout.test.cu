// Files that are read for the sake of another one have a bound of time, too, and the report says when it was reached.
// RUN: rm -rf %t && mkdir -p %t/.git && cp %s %t/launch.cu && cp %S/Inputs/slow_caller.cpp %t/caller.cpp
// RUN: not %devsan_check --no-cache --torch=none --timeout=6 --checks=device-missing-guard %t/launch.cu -- -isystem %mock | FileCheck %s
// CHECK: launch.cu:[[#@LINE+6]]:{{.*}} error: {{.*}} [device-missing-guard]
// CHECK: note: out of time after {{[0-9]+}} s (--timeout), not searched for callers: {{.*}}caller.cpp
#include <ATen/ATen.h>

__global__ void scale(float *x) {}
void launchScale(at::Tensor x) {
  scale<<<1, 32>>>(x.data_ptr<float>());
}
