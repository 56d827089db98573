// The fix adds the device and leaves the dtype.
// RUN: cp %s %t.cpp
// RUN: %devsan_check --checks=device-missing-device --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock
// RUN: FileCheck --input-file=%t.cpp %s
// RUN: %devsan_check --strict --checks=device-missing-device --torch=none %t.cpp -- -std=c++20 -isystem %mock
#include <torch/torch.h>

torch::Tensor added(const torch::Tensor &x) {
  // CHECK: {{^  }}auto a = torch::arange(5, x.device());
  auto a = torch::arange(5);
  // CHECK: {{^  }}auto b = torch::zeros({5}, torch::dtype(torch::kLong).device(x.device()));
  auto b = torch::zeros({5}, torch::kLong);
  auto options = torch::TensorOptions().dtype(torch::kDouble);
  // CHECK: {{^  }}auto c = torch::ones({5}, options.device(x.device()));
  auto c = torch::ones({5}, options);
  float host[3] = {};
  // CHECK: {{^  }}auto d = torch::from_blob(host, {3}).to(x.device());
  auto d = torch::from_blob(host, {3});
  // CHECK: {{^  }}auto e = torch::full({5}, 2.0, x.device());
  auto e = torch::full({5}, 2.0, {});
  return x + a + (x + b) + (x + c) + (x + d) + (x + e);
}
