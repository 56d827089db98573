// What tells the device is not what is being made, and is named only where it can be written.
// RUN: not %check_mock | %file_check
// RUN: cp %s %t.cpp
// RUN: not %devsan_check --checks=device-bare-cuda --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock
// RUN: FileCheck --check-prefix=FIXED --input-file=%t.cpp %s
#include <torch/torch.h>

#include <utility>
#include <vector>

using torch::Tensor;

Tensor undefined(Tensor mask, const Tensor &x) {
  if (!mask.defined())
    // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} whichever device 'x' is on: use x.device() [device-bare-cuda]
    // FIXED: {{^    }}mask = torch::ones({1}, x.device());
    mask = torch::ones({1}, torch::kCUDA);
  return x * mask;
}
void output(Tensor &out, const Tensor &x) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} whichever device 'x' is on: use x.device() [device-bare-cuda]
  // FIXED: {{^  }}out = torch::empty({2}, x.device());
  out = torch::empty({2}, torch::kCUDA);
  out.add_(x);
}
Tensor tested(const Tensor &mask, const Tensor &x) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} whichever device 'x' is on: use x.device() [device-bare-cuda]
  // FIXED: {{^  }}auto z = torch::empty({3}, x.device());
  auto z = torch::empty({3}, torch::kCUDA);
  return mask.defined() ? z * mask : z + x;
}
Tensor movedFrom(Tensor x) {
  auto v = std::move(x);
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} whichever device 'x' is on [device-bare-cuda]
  // FIXED: {{^  }}auto z = torch::zeros({4}, torch::kCUDA);
  auto z = torch::zeros({4}, torch::kCUDA);
  return v + z;
}
Tensor shadowed(const Tensor &x) {
  Tensor r;
  {
    int x = 3;
    // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} whichever device 'x' is on [device-bare-cuda]
    // FIXED: {{^    }}r = torch::zeros({x}, torch::kCUDA);
    r = torch::zeros({x}, torch::kCUDA);
  }
  return r + x;
}
Tensor notCaptured(const Tensor &x, const Tensor &w) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} whichever device 'x' is on [device-bare-cuda]
  // FIXED: {{^  }}auto f = [](const Tensor &t) { return t.cuda(); };
  auto f = [](const Tensor &t) { return t.cuda(); };
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} whichever device 'x' is on: use x.device() [device-bare-cuda]
  // FIXED: {{^  }}auto g = [&](const Tensor &t) { return t.to(x.device()); };
  auto g = [&](const Tensor &t) { return t.cuda(); };
  return x + f(w) + g(w);
}
Tensor pointer(const Tensor *x, const Tensor &y) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} whichever device 'x' is on: use x->device() [device-bare-cuda]
  // FIXED: {{^  }}return torch::zeros({5}, x->device()) + *x + y;
  return torch::zeros({5}).cuda() + *x + y;
}

// Nothing that comes in tells the device.
void outputOnly(Tensor &out) {
  out = torch::empty({3}, torch::kCUDA);
}
