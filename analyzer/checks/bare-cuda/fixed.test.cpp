// RUN: cp %s %t.cpp
// RUN: %devsan_check --checks=device-bare-cuda --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock
// RUN: FileCheck --input-file=%t.cpp %s
// RUN: %devsan_check --strict --checks=device-bare-cuda --torch=none %t.cpp -- -std=c++20 -isystem %mock
#include <torch/torch.h>

torch::Tensor moved(torch::Tensor x, const torch::Tensor &weight) {
  // CHECK: {{^  }}auto a = x.to(weight.device()) * weight;
  auto a = x.cuda() * weight;
  // CHECK: {{^  }}auto b = torch::zeros({2}, weight.device());
  auto b = torch::zeros({2}, torch::kCUDA);
  // CHECK: {{^  }}auto c = torch::ones({2}, torch::dtype(torch::kLong).device(weight.device()));
  auto c = torch::ones({2}, torch::dtype(torch::kLong).device(torch::kMPS));
  return a + b + c;
}

// Made there at once: a copy of a tensor on the host is what a run would report next.
torch::Tensor made(const torch::Tensor &x, int64_t n) {
  // CHECK: {{^  }}auto a = torch::randn({n}, x.device());
  auto a = torch::randn({n}).cuda();
  // CHECK: {{^  }}auto b = torch::zeros({n}, torch::dtype(torch::kLong).device(x.device())) + 1;
  auto b = torch::zeros({n}, torch::kLong).to(torch::kCUDA) + 1;
  // CHECK: {{^  }}auto c = torch::rand({n}, torch::dtype(torch::kFloat).device(x.device()));
  auto c = torch::rand({n}, torch::dtype(torch::kFloat)).to(torch::Device(torch::kCUDA));
  return a + b + c + x;
}
