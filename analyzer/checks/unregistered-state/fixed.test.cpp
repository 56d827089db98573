// RUN: cp %s %t.cpp
// RUN: %devsan_check --checks=device-unregistered-state --torch=none --fix=all %t.cpp -- -std=c++20 -isystem %mock
// RUN: FileCheck --input-file=%t.cpp %s
// RUN: %devsan_check --strict --checks=device-unregistered-state --torch=none %t.cpp -- -std=c++20 -isystem %mock
#include <torch/torch.h>

#include <memory>

struct PartImpl : torch::nn::Module {
  torch::Tensor scale = register_parameter("scale", torch::ones({3}));
};
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

// What makes a member in place makes what is registered.
struct InPlaceImpl : torch::nn::Module {
  explicit InPlaceImpl(int64_t n)
      // CHECK: {{^      }}: fc(register_module("fc", torch::nn::Linear(torch::nn::LinearOptions(n, 3)))),
      : fc(torch::nn::LinearOptions(n, 3)),
        // CHECK: {{^        }}conv(register_module("conv", torch::nn::Conv2d{n, 2, 3})),
        conv{n, 2, 3},
        // CHECK: {{^        }}part(register_module("part", std::shared_ptr<PartImpl>(new PartImpl()))),
        part(new PartImpl()),
        // CHECK: {{^        }}mean(register_buffer("mean", torch::Tensor{torch::zeros({3})})) {}
        mean{torch::zeros({3})} {}
  torch::Tensor forward(torch::Tensor x) { return fc->forward(x) + mean; }
  torch::nn::Linear fc;
  torch::nn::Conv2d conv;
  std::shared_ptr<PartImpl> part;
  torch::Tensor mean;
  // CHECK: {{^  }}torch::nn::Linear braced = register_module("braced", torch::nn::Linear{2, 3});
  torch::nn::Linear braced{2, 3};
  // CHECK: {{^  }}torch::nn::Linear assigned = register_module("assigned", torch::nn::Linear(2, 3));
  torch::nn::Linear assigned = torch::nn::Linear(2, 3);
};
