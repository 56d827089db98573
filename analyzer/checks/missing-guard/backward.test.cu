// Autograd's engine sets the device of the forward's result before it calls a backward: what only backwards call needs no guard.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <torch/autograd.h>
#include <torch/extension.h>

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

__global__ void scale(float *x, int n) {}

void launch(at::Tensor x) { scale<<<1, 256>>>(x.data_ptr<float>(), x.numel()); }
void launchOnly(at::Tensor x) { launch(x); }

void registered(at::Tensor x) {
  // CHECK: :[[@LINE+1]]:3: error: the kernel runs on the current device{{.*}} [device-missing-guard]
  scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
}
void both(at::Tensor x) {
  // CHECK: :[[@LINE+1]]:3: error: the kernel runs on the current device{{.*}} [device-missing-guard]
  scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

struct Scale : torch::autograd::Function<Scale> {
  static variable_list forward(AutogradContext *context, at::Tensor x) {
    // CHECK: :[[@LINE+1]]:5: error: the kernel runs on the current device{{.*}} [device-missing-guard]
    scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
    both(x);
    return {x};
  }
  static variable_list backward(AutogradContext *context, variable_list grads) {
    at::Tensor x = grads[0];
    scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
    launchOnly(x);
    registered(x);
    both(x);
    return {x};
  }
};

template <int n> struct Scaled : torch::autograd::Function<Scaled<n>> {
  static variable_list backward(AutogradContext *context, variable_list grads) {
    at::Tensor x = grads[0];
    scale<<<1, n>>>(x.data_ptr<float>(), x.numel());
    return {x};
  }
};

// Of that name, and called by nobody in particular.
struct Layer {
  static variable_list backward(AutogradContext *context, variable_list grads) {
    at::Tensor x = grads[0];
    // CHECK: :[[@LINE+1]]:5: error: the kernel runs on the current device{{.*}} [device-missing-guard]
    scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
    return {x};
  }
};

// A backward that others call as well.
struct Direct : torch::autograd::Function<Direct> {
  static variable_list backward(AutogradContext *context, variable_list grads) {
    at::Tensor x = grads[0];
    // CHECK: :[[@LINE+1]]:5: error: the kernel runs on the current device{{.*}} [device-missing-guard]
    scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
    return {x};
  }
};
void direct(at::Tensor x) { Direct::backward(nullptr, {x}); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("registered", &registered); }
