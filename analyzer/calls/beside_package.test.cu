// A package of a repository calls a launcher that lies beside it.
// DEFINE: %{check} = %devsan_check --checks=device-missing-guard --torch=none --no-cache
// DEFINE: %{flags} = -I %t/library -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t && split-file %s %t && mkdir %t/.git
// RUN: not %{check} %t/package -- %{flags} | FileCheck %s --implicit-check-not=': error:'
// CHECK: ops.cpp:4:3: error: {{.*}} 'beside'
// CHECK: library/kernels.cu:5:{{[0-9]+}}: note: launched here
// Its own comes first.
// RUN: echo 'void scale(float *x) { x[0] = 0; }' > %t/package/host.cpp && %{check} %t/package -- %{flags} | FileCheck %s --check-prefix=OWN
// OWN: no findings
// RUN: rm %t/package/host.cpp && rm -r %t/.git && %{check} %t/package -- %{flags} | FileCheck %s --check-prefix=OWN

//--- library/kernels.h
void scale(float *x);

//--- library/kernels.cu
#include "kernels.h"
#include <cuda_runtime.h>

__global__ void scaleKernel(float *x) {}
void scale(float *x) { scaleKernel<<<1, 32>>>(x); }

//--- package/setup.py
from setuptools import setup
setup(name="package")

//--- package/ops.cpp
#include "kernels.h"
#include <torch/extension.h>
void callBeside(at::Tensor beside) {
  scale(beside.data_ptr<float>());
}
