// RUN: cp %s %t.cpp
// RUN: %devsan_check --checks=device-unregistered-state --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock
// RUN: FileCheck --input-file=%t.cpp %s
// RUN: %devsan_check --strict --checks=device-unregistered-state --torch=none %t.cpp -- -std=c++20 -isystem %mock
#include <torch/torch.h>

#include <memory>

struct PartImpl : torch::nn::Module {};
struct NormImpl : torch::nn::Module {
  // CHECK: {{^  }}NormImpl() : mean_(register_buffer("mean_", torch::zeros({3}))) {
  NormImpl() : mean_(torch::zeros({3})) {
    // CHECK: {{^    }}alphas_ = register_buffer("alphas_", 1 - torch::linspace(0, 1, 10));
    alphas_ = 1 - torch::linspace(0, 1, 10);
    // CHECK: {{^    }}part_ = register_module("part_", std::make_shared<PartImpl>());
    part_ = std::make_shared<PartImpl>();
    // CHECK: {{^    }}fc_ = register_module("fc_", torch::nn::Linear(2, 3));
    fc_ = torch::nn::Linear(2, 3);
  }
  torch::Tensor forward(torch::Tensor x) { return (x - mean_) * alphas_ + bias_; }

  torch::Tensor mean_, alphas_;
  // CHECK: {{^  }}torch::Tensor bias_ = register_buffer("bias_", torch::zeros({3}));
  torch::Tensor bias_ = torch::zeros({3});
  std::shared_ptr<PartImpl> part_;
  torch::nn::Linear fc_{nullptr};
};
