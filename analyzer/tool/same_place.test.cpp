// A place in a header is told once, however many programs run it in their loops.
// RUN: rm -rf %t && split-file %s %t && cd %t && not %devsan_check --torch=none --no-cache --alone a.cpp b.cpp -- -isystem %mock | FileCheck %s --implicit-check-not='[device-'
// CHECK: read.h:2:{{.*}} (in 'read', which a loop in 'first' calls) [device-host-sync]

//--- read.h
#include <torch/torch.h>
inline double read(torch::Tensor x) { return x.to(torch::kCUDA).sum().item<double>(); }

//--- a.cpp
#include "read.h"
void first(torch::Tensor x) {
  while (read(x) > 0)
    x = x - 1;
}

//--- b.cpp
#include "read.h"
void second(torch::Tensor x) {
  while (read(x) > 0)
    x = x - 1;
}
