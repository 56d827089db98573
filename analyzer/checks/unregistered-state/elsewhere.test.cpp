// A class is judged where all its methods are: one that another source has may move what it keeps.
// RUN: rm -rf %t && split-file %s %t && mkdir %t/.git
// RUN: %devsan_check --torch=none --no-cache --checks=device-unregistered-state %t/main.cpp -- -std=c++17 -isystem %mock | FileCheck %s --check-prefix=SILENT
// SILENT: no findings
// RUN: not %devsan_check --torch=none --no-cache --checks=device-unregistered-state %t/nets.cpp -- -std=c++17 -isystem %mock | FileCheck %s --implicit-check-not='[device-'
// CHECK: nets.h:10:{{.*}}'scale' of module 'KeepingImpl' {{.*}} [device-unregistered-state]
//--- nets.h
#include <torch/torch.h>
struct MovingImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x);
  torch::Tensor scale = torch::ones({3});
};
struct KeepingImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x);


  torch::Tensor scale = torch::ones({3});
};
//--- nets.cpp
#include "nets.h"
torch::Tensor MovingImpl::forward(torch::Tensor x) {
  scale = scale.to(x.device());
  return x * scale;
}
torch::Tensor KeepingImpl::forward(torch::Tensor x) { return x * scale; }
void use(MovingImpl &a, KeepingImpl &b) { a.to(torch::kCUDA); b.to(torch::kCUDA); }
//--- main.cpp
#include "nets.h"
int run(MovingImpl &a, KeepingImpl &b, torch::Tensor x) {
  a.to(torch::kCUDA);
  return b.forward(a.forward(x.to(torch::kCUDA))).dim();
}
