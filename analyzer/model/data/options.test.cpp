// Options say a device as a device does: what their callers give, and what sets them, is followed.
// RUN: rm -rf %t && mkdir -p %t/.git && cp %s %t/main.cpp
// RUN: not %devsan_check --torch=none --no-cache %t -- -isystem %mock | FileCheck %s --implicit-check-not='[device-'
#include <torch/torch.h>

double onHost(torch::Tensor batch, torch::TensorOptions options) {
  double total = 0;
  for (int i = 0; i < 9; ++i) {
    auto image = batch[i].to(options);
    for (int j = 0; j < 9; ++j)
      total += image[j].item<double>();
  }
  return total;
}
double anywhere(torch::Tensor batch, const torch::TensorOptions &options) {
  double total = 0;
  for (int i = 0; i < 9; ++i) {
    auto image = batch[i].to(options);
    for (int j = 0; j < 9; ++j)
      // CHECK: main.cpp:[[#@LINE+1]]:{{.*}} [device-host-sync]
      total += image[j].item<double>();
  }
  return total;
}
struct Host {
  torch::TensorOptions options_;
  Host() { options_ = torch::TensorOptions().device(torch::kCPU); }
  double read(torch::Tensor batch) {
    double total = 0;
    for (int i = 0; i < 9; ++i) {
      auto image = batch[i].to(options_);
      for (int j = 0; j < 9; ++j)
        total += image[j].item<double>();
    }
    return total;
  }
};

int main() {
  auto host = torch::TensorOptions().dtype(torch::kDouble).device(torch::kCPU);
  torch::Tensor batch = torch::ones({9, 9}, torch::kCUDA);
  onHost(batch, host);
  anywhere(batch, host);
  anywhere(batch, torch::TensorOptions().device(torch::kCUDA));
  Host().read(batch);
}
