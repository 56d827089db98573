// Includes as Windows' compilers take them.
// RUN: rm -rf %t && mkdir -p %t/.git %t/src %t/include/layers
// RUN: cp %s %t/src/main.cpp
// RUN: echo 'inline double meanOf(torch::Tensor x) { double sum = 0; for (int i = 0; i < 9; ++i) sum += x.cuda().sum().item<double>(); return sum; }' > %t/include/layers/mean.h
// RUN: not %devsan_check --torch=none --no-cache --checks=device-host-sync %t/src/main.cpp -- -isystem %mock > %t/out 2>&1
// RUN: FileCheck %s < %t/out
#include <torch\torch.h>
#include "..\include\layers\mean.h"

int main() { return meanOf(torch::ones({2}).to(torch::kCUDA)) > 0; }
// CHECK: tmp/include/layers/mean.h:1:{{.*}}[device-host-sync]
// CHECK-NOT: parsed in part
