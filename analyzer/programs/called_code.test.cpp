// What no program of a project calls does nothing: its findings are left out, and counted. Whoever uses a library calls what it has.
// RUN: rm -rf %t && mkdir %t
// RUN: env XDG_CACHE_HOME=%t/cache %python %S/called_spellings.py %t %devsan_check --torch=none -j1 -- -isystem %mock
// RUN: mkdir -p %t/program/.git && cp %s %t/program/work.cpp
// RUN: %devsan_check --torch=none --no-cache %t/program -- -isystem %mock | FileCheck %s --check-prefix=LEFT
// LEFT: 1 finding left out: in code that no program of the project calls, or no build takes; --alone reports them
// RUN: not %devsan_check --torch=none --no-cache --alone %t/program -- -isystem %mock | FileCheck %s
// CHECK: work.cpp:[[#@LINE+5]]:{{.*}} [device-host-sync]
// CHECK-NOT: left out
#include <torch/torch.h>
void unused() {
  for (int i = 0; i < 3; ++i)
    torch::ones({3}, torch::kCUDA).sum().item<double>();
}
int main() {}
