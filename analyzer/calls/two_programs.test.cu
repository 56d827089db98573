// Two extensions of one repository have functions of the same names: each guards its own, and where one does not, both are told.
// DEFINE: %{check} = %devsan_check --checks=device-missing-guard --torch=none --no-cache
// DEFINE: %{flags} = -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/.git %t/b && cp %t/a/* %t/b
// RUN: %{check} %t -- %{flags} | FileCheck %s --check-prefix=NONE
// NONE: no findings
// RUN: %python -c "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write(t.replace('const c10::cuda::CUDAGuard guard(x.device());', ''))" %t/b/ops.cpp
// RUN: not %{check} %t -- %{flags} | FileCheck %s --implicit-check-not='[device-'
// CHECK: /a/kernel.cu:4:{{.*}} [device-missing-guard]
// CHECK: /b/kernel.cu:4:{{.*}} [device-missing-guard]
// Callers of one are none of the other.
// RUN: rm %t/b/ops.cpp && cp %t/a/ops.cpp %t/a/more.cpp
// RUN: not %{check} %t -- %{flags} | FileCheck %s --check-prefix=UNCALLED
// UNCALLED: /b/kernel.cu:4:{{.*}} [device-missing-guard]

//--- a/kernel.cu
#include <ATen/ATen.h>
__global__ void scale(float *x) {}
void scaleCuda(at::Tensor x) {
  scale<<<1, 32>>>(x.data_ptr<float>());
}

//--- a/ops.cpp
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>
void scaleCuda(at::Tensor x);
void scaled(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  scaleCuda(x);
}
TORCH_LIBRARY(ops, m) { m.def("scaled", &scaled); }
