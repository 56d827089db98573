// A class with members of unknown types is laid out where its destructor is virtual, where it is asked for its size, where it is a
// part of another: a namespace that is there may lack the type, once or again.
// RUN: not %devsan_check --torch=none --no-cache --timeout=20 %s -- -std=c++20 -isystem %mock | FileCheck %s --implicit-check-not='[device-'
// CHECK: unknown_layout.test.cpp:[[#@LINE+29]]:{{.*}} [device-host-sync]
// CHECK: 100 % of its lines were seen
#include "not_there.h"
#include <torch/torch.h>

#include <vector>

namespace lib {
struct Known {};
} // namespace lib

struct First : torch::nn::Module {
  lib::Gone gone;
};
struct Second : torch::nn::Module {
  lib::Gone gone;
  lib::Gone array[3];
  std::vector<lib::Gone> many;
  lib::inner::Gone nested;
  Unknown other = 3;
  int size = sizeof(First);
};
struct Third : First {
  Second part;
  First parts[2];
  float wait(const std::vector<torch::Tensor> &batches) {
    Second copy = part;
    float sum = sizeof(Second);
    for (const auto &batch : batches)
      sum += batch.to(torch::kCUDA).item<float>();
    return sum;
  }
};
