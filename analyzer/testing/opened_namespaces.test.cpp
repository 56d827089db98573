// A project may open LibTorch's namespaces. What it declares there is its own, whether LibTorch's headers come from a system folder or not.
// RUN: not %check_mock | %file_check
// RUN: not %devsan_check --alone --torch=none %s -- -std=c++20 -I %mock -isystem %cuda_stubs | %file_check
#include <cstdint>
// What LibTorch defines or declares too stays LibTorch's.
namespace c10::cuda {
struct OptionalCUDAGuard;
}
namespace torch::cuda {
void synchronize(int64_t device_index);
}

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cublas_v2.h>
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

void emptyGuard(at::Tensor x) {
  const float one = 1;
  c10::cuda::OptionalCUDAGuard guard;
  cublasSscal(at::cuda::getCurrentCUDABlasHandle(), 3, &one, x.data_ptr<float>(), 1);
  // CHECK: :[[@LINE-1]]:3: error: {{.*}} 'x'{{.*}}[device-missing-guard]
}
at::Tensor waits(at::Tensor x) {
  torch::cuda::synchronize(-1);
  // CHECK: :[[@LINE-1]]:3: warning: {{.*}} makes the host wait for the device on every step{{.*}}[device-host-sync]
  return x;
}

TORCH_LIBRARY(ours, m) {
  m.def("normalized", &torch::ours::normalized);
  m.def("shifted", &at::shifted);
  m.def("opened", &c10::opened);
  m.def("waits", &waits);
}
