// RUN: cp %s %t.cu
// RUN: %devsan_check --checks=device-index-lost --torch=none --fix %t.cu -- -std=c++20 -isystem %mock
// RUN: FileCheck %s --input-file=%t.cu
#include <torch/extension.h>

at::Tensor kind(at::Tensor x) {
  return torch::zeros({4}, torch::device(x.device().type()));
}
// CHECK: {{^}}  return torch::zeros({4}, torch::device(x.device()));
