// What clang takes for an error, and g++ or an older clang for a warning, leaves a file whole.
// RUN: not %devsan_check --checks=device-host-sync --torch=none %s -- -std=c++20 -isystem %mock 2>&1 | FileCheck %s
#include <torch/torch.h>

bool isWithin(int low, int x, int high) { return low <= x <= high; }
int narrow(double x) {
  int values[] = {x};
  return values[0];
}

void train(const torch::Tensor &losses) {
  for (int i = 0; i < narrow(3.5); ++i)
    if (isWithin(0, i, 2))
      losses.item();
}
// CHECK: warnings_as_errors.test.cpp:[[# @LINE - 2]]:{{.*}}[device-host-sync]
// CHECK-NOT: parsed in part
