// ATen's dispatcher sets the device for ATen's own operators only: another project's code in ATen's namespaces is the project's.
// DEFINE: %{check} = %devsan_check --checks=device-missing-guard --torch=none --no-cache
// RUN: rm -rf %t && mkdir -p %t/aten/src/ATen/native/cuda %t/csrc && cp %s %t/aten/src/ATen/native/cuda/op.cu && cp %s %t/csrc/op.cu
// RUN: %{check} %t/aten -- -isystem %mock -isystem %cuda_stubs
// RUN: not %{check} %t/csrc -- -isystem %mock -isystem %cuda_stubs | %file_check
#include <torch/extension.h>

namespace at::native {
__global__ void scale(float *x, int n) {}
void op(at::Tensor x) { scale<<<1, 256>>>(x.data_ptr<float>(), x.numel()); }
// CHECK: :[[@LINE-1]]:25: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
} // namespace at::native
