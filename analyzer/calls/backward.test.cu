// What only backwards call, which autograd's engine calls, needs no guard in another file either.
// DEFINE: %{check} = %devsan_check --no-cache --checks=device-missing-guard --torch=none
// DEFINE: %{flags} = -I %t -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t && split-file %s %t
// RUN: %{check} %t/launch.cu %t/scale.cpp -- %{flags} | FileCheck %s --check-prefix=SILENT
// SILENT: no findings
// RUN: not %{check} %t/launch.cu %t/scale.cpp %t/bind.cpp -- %{flags} | FileCheck %s
// CHECK: launch.cu:4:{{.*}} [device-missing-guard]

//--- launch.cu
#include <torch/extension.h>
__global__ void scale(float *x, int n) {}
void scaleBackward(at::Tensor x) {
  scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
}
//--- scale.cpp
#include <torch/autograd.h>
#include <torch/extension.h>
void scaleBackward(at::Tensor x);
struct Scale : torch::autograd::Function<Scale> {
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *, torch::autograd::variable_list grads) {
    scaleBackward(grads[0]);
    return grads;
  }
};
//--- bind.cpp
#include <torch/extension.h>
void scaleBackward(at::Tensor x);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale_backward", &scaleBackward); }
