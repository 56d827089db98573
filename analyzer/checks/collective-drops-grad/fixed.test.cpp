// RUN: cp %s %t.cpp
// RUN: %devsan_check --checks=device-collective-drops-grad --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock
// RUN: FileCheck --input-file=%t.cpp %s
// RUN: %devsan_check --strict --checks=device-collective-drops-grad --torch=none %t.cpp -- -std=c++20 -isystem %mock
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/torch.h>

#include <vector>

torch::Tensor gather(const c10::intrusive_ptr<c10d::ProcessGroup> &group, const torch::Tensor &x) {
  std::vector<std::vector<torch::Tensor>> outputs{{torch::empty_like(x), torch::empty_like(x)}};
  std::vector<torch::Tensor> inputs{x};
  group->allgather(outputs, inputs)->wait();
  // CHECK: {{^  }}outputs[0][group->getRank()] = inputs[0];
  return torch::stack(outputs[0]);
}
