// A source that includes a .cuh or .cu.h with launches is nvcc's, whatever it is called, unless the header asks which compiler reads it.
// RUN: rm -rf %t && mkdir -p %t/.git && cp %s %t/manager.cpp
// RUN: echo '#include <ATen/ATen.h>' > %t/map.cuh && echo '__global__ void scale(float *x) {}' >> %t/map.cuh
// RUN: echo 'inline void launch(at::Tensor x) { scale<<<1, 32>>>(x.data_ptr<float>()); }' >> %t/map.cuh
// RUN: echo '#pragma once' > %t/asks.cuh && echo '#ifdef __CUDACC__' >> %t/asks.cuh && cat %t/map.cuh >> %t/asks.cuh && echo '#endif' >> %t/asks.cuh
// RUN: mkdir %t/host && sed 's/map.cuh/asks.cuh/' %s > %t/host/manager.cpp
// DEFINE: %{check} = %devsan_check --strict --torch=none --no-cache --checks=device-bare-cuda,device-missing-guard
// RUN: not %{check} %t/manager.cpp -- -isystem %mock | FileCheck %s --check-prefixes=CHECK,CUDA --implicit-check-not='[device-'
// RUN: mkdir -p %t/named/.git && mv %t/map.cuh %t/named/map.cu.h && sed 's/map.cuh/map.cu.h/' %s > %t/named/manager.cpp
// RUN: not %{check} %t/named/manager.cpp -- -isystem %mock | FileCheck %s --check-prefixes=CHECK,CUDA --implicit-check-not='[device-'
// RUN: not %{check} %t/host/manager.cpp -- -isystem %mock | FileCheck %s --implicit-check-not='[device-'
// So is one that is named for it; LibTorch's headers find ours where a toolkit's folder lacks some, and in .cu files always.
// RUN: mkdir -p %t/toolkit/crt && echo '#error not to be read' | tee %t/toolkit/cuda_runtime.h > %t/toolkit/crt/host_config.h
// RUN: sed 's/#include "map.cuh"/__global__ void scale(float *x) {} void launch(at::Tensor x) { scale<< <1, 32>> >(x.data_ptr<float>()); }/' %s > %t/manager.cu.cc && sed 's/"map.cuh"/<cuda_runtime.h>/' %s | tee %t/host/with_toolkit.cpp > %t/host/with_toolkit.cu
// Other libraries may lie in that folder, too.
// RUN: mkdir %t/toolkit/other && echo 'struct Other { at::Tensor x; };' > %t/toolkit/other/other.h
// RUN: echo '#include <other/other.h>' | tee -a %t/host/with_toolkit.cpp >> %t/host/with_toolkit.cu
// RUN: echo 'at::Tensor there(Other o, at::Tensor y) { return o.x.cuda() + y; }' | tee -a %t/host/with_toolkit.cpp >> %t/host/with_toolkit.cu
// RUN: not %{check} %t/manager.cu.cc -- -isystem %mock | FileCheck %s --check-prefixes=NAMED --implicit-check-not='[device-'
// RUN: not %{check} %t/host/with_toolkit.cpp %t/host/with_toolkit.cu -- -isystem %mock -I %t/toolkit | FileCheck %s --check-prefix=TOOLKIT --implicit-check-not='[device-'
// NAMED: manager.cu.cc:[[#@LINE+10]]:{{.*}} error: {{.*}} [device-missing-guard]
// NAMED: manager.cu.cc:[[#@LINE+11]]:{{.*}} [device-bare-cuda]
// TOOLKIT: with_toolkit.cpp:[[#@LINE+10]]:{{.*}} [device-bare-cuda]
// TOOLKIT: with_toolkit.cpp:[[#@LINE+11]]:{{.*}} [device-bare-cuda]
// TOOLKIT: with_toolkit.cu:[[#@LINE+8]]:{{.*}} [device-bare-cuda]
// TOOLKIT: with_toolkit.cu:[[#@LINE+9]]:{{.*}} [device-bare-cuda]
// CHECK: manager.cpp:[[#@LINE+6]]:{{.*}} [device-bare-cuda]
// CUDA: map.cu{{h|.h}}:3:{{.*}} error: {{.*}} [device-missing-guard]
#include <torch/torch.h>

#include "map.cuh"

at::Tensor here(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
