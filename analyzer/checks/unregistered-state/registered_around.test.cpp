// A registration around the assignment registers. A member that a method sets to another tensor gets
// no fix: what is registered would not be what is used.
// RUN: not %check_mock | %file_check
// RUN: cp %s %t.cpp
// RUN: not %devsan_check --checks=device-unregistered-state --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock
// RUN: FileCheck --check-prefix=FIXED --input-file=%t.cpp %s
#include <torch/torch.h>

struct AroundImpl : torch::nn::Module {
  AroundImpl() {
    register_buffer("b", b = torch::zeros({3}));
    register_parameter("v", v = torch::randn({3}));
  }
  torch::Tensor forward(torch::Tensor x) { return x * v + b; }
  torch::Tensor b, v;
};

struct ReboundImpl : torch::nn::Module {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: error: tensor member 'state' of module 'ReboundImpl' {{.*}} [device-unregistered-state]
  // FIXED: {{^  }}ReboundImpl() { state = torch::zeros({2}); }
  ReboundImpl() { state = torch::zeros({2}); }
  torch::Tensor forward(torch::Tensor x) {
    state = state * 0.9 + x;
    return x + state;
  }
  torch::Tensor state;
};
