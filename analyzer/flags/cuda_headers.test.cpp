// A source that includes a .cuh with launches is nvcc's, whatever it is called, unless the header asks which compiler reads it.
// RUN: rm -rf %t && mkdir -p %t/.git && cp %s %t/manager.cpp
// RUN: echo '#include <ATen/ATen.h>' > %t/map.cuh && echo '__global__ void scale(float *x) {}' >> %t/map.cuh
// RUN: echo 'inline void launch(at::Tensor x) { scale<<<1, 32>>>(x.data_ptr<float>()); }' >> %t/map.cuh
// RUN: echo '#pragma once' > %t/asks.cuh && echo '#ifdef __CUDACC__' >> %t/asks.cuh && cat %t/map.cuh >> %t/asks.cuh && echo '#endif' >> %t/asks.cuh
// RUN: mkdir %t/host && sed 's/map.cuh/asks.cuh/' %s > %t/host/manager.cpp
// DEFINE: %{check} = %devsan_check --strict --torch=none --no-cache --checks=device-bare-cuda,device-missing-guard
// RUN: not %{check} %t/manager.cpp -- -isystem %mock | FileCheck %s --check-prefixes=CHECK,CUDA --implicit-check-not='[device-'
// RUN: not %{check} %t/host/manager.cpp -- -isystem %mock | FileCheck %s --implicit-check-not='[device-'
// CHECK: manager.cpp:[[#@LINE+6]]:{{.*}} [device-bare-cuda]
// CUDA: map.cuh:3:{{.*}} error: {{.*}} [device-missing-guard]
#include <torch/torch.h>

#include "map.cuh"

at::Tensor here(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
