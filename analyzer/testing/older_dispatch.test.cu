// A dispatch on `x.type()`, as extensions of older releases have it, keeps its meaning: the call in it launches elsewhere.
// RUN: rm -rf %t && split-file %s %t && mkdir %t/.git
// RUN: not %devsan_check --strict --checks=device-missing-guard --torch=%torch_dir --no-cache %t/ops.cpp -- | FileCheck %s
// CHECK: ops.cpp:5:5: error: {{.*}} 'x': no guard is live here [device-missing-guard]
// CHECK: kernels.cu:3:{{[0-9]+}}: note: launched here
// CHECK: failed because of 1 error: 1 file: 1 finding
// CHECK-NOT: parsed in part

//--- ops.cpp
#include <torch/extension.h>
template <typename T> void scale(T *x, int64_t n);
void run(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.type(), "run", [&] {
    scale<scalar_t>(x.data_ptr<scalar_t>(), x.numel());
  });
}

//--- kernels.cu
#include <cstdint>
template <typename T> __global__ void scaleKernel(T *x, int64_t n) {}
template <typename T> void scale(T *x, int64_t n) { scaleKernel<<<1, 32>>>(x, n); }
template void scale<float>(float *x, int64_t n);
template void scale<double>(double *x, int64_t n);
