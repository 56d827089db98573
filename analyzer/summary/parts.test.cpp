// Parts of a project that are analysed apart, each file once, and put together by their summaries alone give what a run over all files gives.
// DEFINE: %{same} = env XDG_CACHE_HOME=%t.cache %python %S/parts_and_link.py %devsan_check %t
// DEFINE: %{options} = --torch=none --checks=device-missing-guard,device-host-sync,device-bare-cuda
// DEFINE: %{flags} = -I . -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t && split-file %s %t && mkdir %t/.git && touch %t/setup.py
// RUN: not %{same} 1 %{options} --format=json -- %{flags} > %t.one && FileCheck %s --check-prefix=JSON < %t.one
// RUN: not %{same} 2 %{options} --format=json -- %{flags} | diff %t.one -
// RUN: not %{same} 9 %{options} --format=json -- %{flags} | diff %t.one -
// JSON: kernels.cu
// RUN: not %{same} 2 %{options} --no-strict -- %{flags} | FileCheck %s --implicit-check-not='[device-'
// CHECK: ops.cpp:4:{{.*}} error: {{.*}} 'direct'{{.*}} [device-missing-guard]
// CHECK: kernels.cu:5:{{.*}} note: launched here
// CHECK: shared.h:4:{{.*}} [device-bare-cuda]
// CHECK: steps.cpp:2:{{.*}} [device-host-sync]
// CHECK: bind.cpp:4:{{.*}} note: 'operatorOf' runs it
// CHECK: sums.cpp:5:{{.*}} [device-host-sync]
// CHECK: 9 files: 4 findings
// CHECK: broken.cpp: {{.*}} nowhere.h
// RUN: not %{same} 2 %{options} --format=sarif -- %{flags} > /dev/null
// RUN: not %{same} 2 %{options} --strict -- %{flags} > /dev/null
// RUN: %{same} 2 %{options} --fail-on=none --no-strict -- %{flags} > /dev/null
// RUN: not %{same} 2 %{options} --alone -- %{flags} > /dev/null
// Of what the inputs leave out a run reads what it needs, and so does the run that puts summaries together.
// RUN: not %{same} 2 ops.cpp broken.cpp %{options} -- %{flags} | FileCheck %s --check-prefix=SOME --implicit-check-not='[device-'
// SOME: ops.cpp:4:{{.*}} [device-missing-guard]
// SOME: kernels.cu:5:{{.*}} note: launched here
// SOME: shared.h:4:{{.*}} [device-bare-cuda]
// Headers that are named are read through sources, those that no part reads by themselves.
// RUN: not %{same} 2 shared.h off.h ops.cpp %{options} -- %{flags} | FileCheck %s --check-prefix=HEADERS --implicit-check-not='[device-'
// HEADERS-DAG: shared.h:4:{{.*}} [device-bare-cuda]
// HEADERS-DAG: off.h:2:{{.*}} [device-bare-cuda]
// HEADERS-DAG: ops.cpp:4:{{.*}} [device-missing-guard]

//--- kernels.cu
#include "shared.h"
#include <cuda_runtime.h>

__global__ void scale(float *x) {}
void launchKernel(float *x) { scale<<<1, 32>>>(x); }

//--- shared.h
#pragma once
#include <torch/torch.h>
void launchKernel(float *x);
inline torch::Tensor moved(torch::Tensor x, torch::Tensor y) { return x.cuda() + y; }
torch::Tensor given(torch::Tensor rows);

//--- off.h
#include <torch/torch.h>
inline at::Tensor off(at::Tensor x, at::Tensor y) { return x.cuda() + y; }

//--- ops.cpp
#include "shared.h"
#include <c10/cuda/CUDAGuard.h>
void guarded(torch::Tensor x) { c10::cuda::CUDAGuard guard(x.device()); launchKernel(x.data_ptr<float>()); }
void bare(torch::Tensor direct) { launchKernel(direct.data_ptr<float>()); }

//--- sums.cpp
#include "shared.h"
double sumOf(const torch::Tensor &rows);
double sumOf(const torch::Tensor &rows) {
  double sum = 0;
  for (int i = 0; i < rows.size(0); ++i) sum += rows[i].item<double>();
  return sum;
}
double hostSum(const torch::Tensor &lines) {
  double sum = 0;
  for (int i = 0; i < lines.size(0); ++i) sum += lines[i].item<double>();
  return sum;
}

//--- steps.cpp
#include "shared.h"
torch::Tensor stepOf(torch::Tensor x) { return x / x.mean().item<float>(); }
torch::Tensor elsewhere(torch::Tensor x) { return x / x.mean().item<float>(); }

//--- bind.cpp
#include "shared.h"
#include <torch/library.h>
torch::Tensor stepOf(torch::Tensor x);
torch::Tensor operatorOf(torch::Tensor x) { return stepOf(x); }
TORCH_LIBRARY(ours, m) { m.def("of", &operatorOf); }

//--- main.cpp
#include "shared.h"
double sumOf(const torch::Tensor &rows);
double hostSum(const torch::Tensor &lines);
double onDevice(torch::Device device) { return sumOf(torch::ones({3}, device)) + hostSum(torch::ones({3})); }

//--- broken.cpp
#include "nowhere.h"
void nothing() { Unknown x = call(; }

//--- quiet.cpp
int one() { return 1; }

//--- below/far.cpp
#include "../far.h"
int far() { return 1; }

//--- far.h
static_assert(sizeof(int) == 1, "x/../y");
