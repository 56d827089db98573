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

// By a method that is handed the module.
struct TopImpl : torch::nn::Module {
  TopImpl() { fc = register_module("fc", torch::nn::Linear(3, 3)); }
  torch::nn::Linear fc{nullptr};
};
struct Keeping : torch::nn::Module {
  Keeping() : top(keep(std::make_shared<TopImpl>())), lost(std::make_shared<TopImpl>()) {}
  // CHECK: :[[#@LINE-1]]:{{[0-9]+}}: error: submodule 'lost' of module 'Keeping' {{.*}} [device-unregistered-state]
  std::shared_ptr<TopImpl> keep(std::shared_ptr<TopImpl> net);
  std::shared_ptr<TopImpl> top, lost;
};
std::shared_ptr<TopImpl> Keeping::keep(std::shared_ptr<TopImpl> net) {
  register_module("fc", net->fc);
  return net;
}
// A list that stays empty, one of parts that are registered one by one, one of its own.
struct Lists : torch::nn::Module {
  Lists() : empty(torch::nn::ModuleList()), each(torch::nn::ModuleList()), own(torch::nn::ModuleList()) {
    // CHECK: :[[#@LINE-1]]:{{[0-9]+}}: error: submodule 'own' of module 'Lists' {{.*}} [device-unregistered-state]
    for (int i = 0; i < 3; ++i) {
      auto part = torch::nn::Linear(3, 3);
      each->push_back(part);
      register_module("part" + std::to_string(i), part);
      own->push_back(torch::nn::Linear(3, 3));
    }
  }
  torch::nn::ModuleList empty, each, own;
};
