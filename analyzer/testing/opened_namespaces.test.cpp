// A project may open LibTorch's namespaces. What it declares there is its own, whether LibTorch's headers come from a system folder or not.
// RUN: not %check_mock | %file_check
// RUN: not %devsan_check --alone --torch=none %s -- -std=c++20 -I %mock | %file_check
#include <torch/extension.h>
#include <torch/library.h>

namespace torch::ours {
float average(at::Tensor x) { return x.mean().item<float>(); }
// CHECK: :[[@LINE-1]]:47: warning: 'x.mean().item<float>()' makes the host wait for the device on every step (in 'average', which 'normalized' calls){{.*}}[device-host-sync]
at::Tensor normalized(at::Tensor x) { return x / average(x); }
} // namespace torch::ours

namespace at {
at::Tensor shifted(at::Tensor x) { return x + torch::zeros({3}); }
// CHECK: :[[@LINE-1]]:47: warning: 'torch::zeros({3})' makes a tensor on the CPU that meets 'x'{{.*}}[device-missing-device]
struct Holder {
  at::Tensor there(at::Tensor x, c10::Device device) {
    at::Tensor host = x.to(torch::kCPU);
    return (host / 255).to(device);
    // CHECK: :[[@LINE-1]]:25: warning: '(host / 255)' goes back to the device of 'device'{{.*}}[device-cpu-round-trip]
  }
};
} // namespace at

namespace c10 {
// What is called as LibTorch's function or method is called need not do the same.
struct Box {
  int item() const;
  Box cuda() const;
};
int zeros(c10::IntArrayRef);
int opened(Box box) { return box.cuda().item() + zeros({1}); }
} // namespace c10

TORCH_LIBRARY(ours, m) {
  m.def("normalized", &torch::ours::normalized);
  m.def("shifted", &at::shifted);
  m.def("opened", &c10::opened);
}
