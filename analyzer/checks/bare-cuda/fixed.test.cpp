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
