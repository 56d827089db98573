// A move that goes to the host, of a tensor that each caller has there, is no error, nor is any in a program without devices.
// DEFINE: %{check} = %devsan_check --checks=device-discarded-move --torch=none --no-cache
// DEFINE: %{flags} = -std=c++17 -isystem %mock
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/.git
// RUN: not %{check} %t -- %{flags} | FileCheck %s --implicit-check-not='[device-'
// CHECK: infer.cpp:7:11: error: 'input.to(torch::kCUDA)' moves nothing {{.*}} [device-discarded-move]
// RUN: sed -i 's/kCUDA/kCPU/' %t/infer.cpp && %{check} %t -- %{flags} | FileCheck %s --check-prefix=NONE
// NONE: no findings
// A tensor of a device is not there.
// RUN: sed -i 's/torch::ones({3})/torch::ones({3}).to(torch::kCUDA)/' %t/main.cpp
// RUN: not %{check} %t -- %{flags} | FileCheck %s --check-prefix=DEVICE
// DEVICE: infer.cpp:5:{{[0-9]+}}: error: 'input.to(torch::kCPU)' moves nothing {{.*}} [device-discarded-move]

//--- infer.h
#include <torch/torch.h>
torch::Tensor infer(const torch::Tensor &input, bool on_host);

//--- infer.cpp
#include "infer.h"

torch::Tensor infer(const torch::Tensor &input, bool on_host) {
  if (on_host)
    input.to(torch::kCPU);
  else
    input.to(torch::kCUDA);
  return input * 2;
}

//--- main.cpp
#include "infer.h"
int main(int count, char **) { infer(torch::ones({3}), count > 1); }
