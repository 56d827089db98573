// The fix passes the one device of the function where the load can see it.
// RUN: cp %s %t.cpp
// RUN: not %devsan_check --checks=device-load-without-device --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock
// RUN: FileCheck --input-file=%t.cpp %s
#include <torch/script.h>
#include <torch/torch.h>

void added(const std::string &path, torch::Device device) {
  torch::nn::Linear model(8, 8);
  // CHECK: {{^  }}torch::load(model, path, device);
  torch::load(model, path);
  // CHECK: {{^  }}auto script = torch::jit::load(path, device);
  auto script = torch::jit::load(path);
  script.forward({model->forward(torch::ones({2, 8}, device))});
}

void local(const std::string &path, bool cuda) {
  const torch::Device where(torch::kCUDA, 1);
  // CHECK: {{^  }}auto script = torch::jit::load(path, where);
  auto script = torch::jit::load(path);
  script.forward({torch::ones({2, 8}, where)});
}

void notYetThere(const std::string &path) {
  // CHECK: {{^  }}auto script = torch::jit::load(path);
  auto script = torch::jit::load(path);
  const torch::Device device(torch::kCUDA, 1);
  script.forward({torch::ones({2, 8}, device)});
}

void outOfScope(const std::string &path, torch::Tensor x) {
  {
    const torch::Device device(torch::kCUDA, 1);
    x = x.to(device);
  }
  // CHECK: {{^  }}auto script = torch::jit::load(path);
  auto script = torch::jit::load(path);
  script.forward({x});
}

void several(const std::string &path, torch::Device first, torch::Device second) {
  // CHECK: {{^  }}auto script = torch::jit::load(path);
  auto script = torch::jit::load(path);
  script.forward({torch::ones({2, 8}, first), torch::ones({2, 8}, second)});
}
