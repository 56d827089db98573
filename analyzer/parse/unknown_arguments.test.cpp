// A call of LibTorch's with an argument that a missing header would have declared: what the call gives is known all the same.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <iostream>
#include <tuple>

#include "not_there.h"

void reads(torch::Tensor x) {
  for (int i = 0; i < 3; ++i) {
    auto moved = x.to(unknown_option);
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'moved.item<float>()' makes {{.*}} [device-host-sync]
    float a = moved.item<float>();
    auto [values, indices] = (x + 1).max(unknown_dim);
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'values.item<float>()' makes {{.*}} [device-host-sync]
    float b = values.item<float>();
    auto first = std::get<0>((x + 2).max(unknown_dim));
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'first.item<float>()' makes {{.*}} [device-host-sync]
    float c = first.item<float>();
    auto sum = -(x.add(unknown.tensor) * 2 + unknown.scale).sum();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'sum.item<float>()' makes {{.*}} [device-host-sync]
    float d = sum.item<float>();
    auto element = x.add(unknown.tensor)[0];
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'element.item<float>()' makes {{.*}} [device-host-sync]
    float e = element.item<float>();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'x.sub(unknown.tensor).cpu()' copies {{.*}} [device-host-sync]
    auto host = x.sub(unknown.tensor).cpu();
    float f = host.item<float>() + (host + unknown.scale).sum().item<float>();
  }
}

void made() {
  for (int i = 0; i < 3; ++i) {
    auto blob = torch::from_blob(unknown.pointer, {1, 2});
    float a = blob.item<float>();
    auto there = blob.cuda();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'there.item<float>()' makes {{.*}} [device-host-sync]
    float b = there.item<float>();
  }
}

torch::Tensor roundTrip(torch::Tensor x) {
  auto host = x.mul(unknown.tensor).cpu();
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: '(host + 1)' goes back to the device of 'x' {{.*}} [device-cpu-round-trip]
  return (host + 1).to(x.device());
}

struct Chart {
  template <typename T> T item() const;
  Chart add(int) const;
};

void silent(torch::Tensor x, Chart chart) {
  for (int i = 0; i < 3; ++i) {
    auto host = x.new_zeros({3}, torch::kCPU).add(unknown.tensor);
    float a = host.item<float>() + (host * unknown.scale).item<float>();
    auto unlike = unknown.sum() + 1;
    float b = unlike.item<float>() + (-unlike).item<float>() + unlike[0].item<float>();
    auto points = chart.add(unknown.count);
    float c = points.item<float>();
    auto count = x.size(unknown.dim) + unknown.count;
    float d = count.item<float>();
    auto &stream = std::cout << x.add(unknown.tensor);
    auto pair = std::get<0>(unknown.pair);
    float e = pair.item<float>();
  }
}

// Its instantiations know better.
template <typename T> void inTemplate(T chart) {
  for (int i = 0; i < 3; ++i) {
    auto points = chart.add(unknown.count);
    float a = points.template item<float>();
  }
}
