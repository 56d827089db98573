// A header has one name, from whichever folder it is included: what is found in it is told once.
// RUN: rm -rf %t && mkdir -p %t/.git %t/tests && cp %s %t/main.cpp
// RUN: echo '#include <torch/torch.h>' > %t/net.h && echo 'inline at::Tensor moved(at::Tensor x, at::Tensor y) { return x.cuda() + y; }' >> %t/net.h
// RUN: echo '#include "../net.h"' > %t/tests/net_test.cpp && echo '#include "./net.h"' > %t/other.cpp
// RUN: not %devsan_check --torch=none --no-cache --checks=device-bare-cuda %t -- -isystem %mock | FileCheck %s --implicit-check-not='[device-'
// CHECK: {{[^.]}}/net.h:2:{{.*}} [device-bare-cuda]
// CHECK: 1 finding
#include "net.h"
int main() { moved(at::ones({3}, "cuda:1"), at::ones({3})); }
