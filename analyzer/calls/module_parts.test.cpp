// What only a module's constructor calls, in whichever file, finds the parts of the module on the host.
// DEFINE: %{check} = %devsan_check --checks=device-missing-device --torch=none --no-cache
// DEFINE: %{flags} = -std=c++17 -isystem %mock
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/.git && touch %t/setup.py
// RUN: not %{check} %t -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=WARMED
// RUN: not %{check} %t/net.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=WARMED
// WARMED: net.cpp:8:{{.*}} 'torch::zeros({2, 3})' {{.*}} [device-missing-device]
// WARMED: net.cpp:9:{{.*}} 'torch::zeros({3, 3})' {{.*}} [device-missing-device]
// Another caller, in whichever way; on another object; and a constructor that moves the module.
// RUN: echo '#include "net.h"' > %t/include
// RUN: cp %t/include %t/more.cpp && echo 'auto more(Net &net) { return net.probe(); }' >> %t/more.cpp && not %{check} %t/net.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-'
// RUN: cp %t/include %t/more.cpp && echo 'auto more = &Net::probe;' >> %t/more.cpp && not %{check} %t/net.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-'
// RUN: cp %t/include %t/more.cpp && echo 'struct More : Net { More(Net &other) { other.probe(); } };' >> %t/more.cpp && not %{check} %t/net.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-'
// RUN: rm %t/more.cpp && sed -i 's/{ size = sizes/{ to(torch::kCUDA); size = sizes/' %t/net.cpp && not %{check} %t/net.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-'
// CHECK: net.cpp:7:{{.*}} 'torch::zeros({1, 3})' makes a tensor on the CPU that meets 'conv'{{.*}} [device-missing-device]
// CHECK: net.cpp:8:{{.*}} [device-missing-device]
// CHECK: net.cpp:9:{{.*}} [device-missing-device]

//--- net.h
#include <torch/torch.h>
struct Net : torch::nn::Module {
  Net();
  torch::Tensor forward(torch::Tensor x);
  int64_t sizes();
  int64_t probe();
  void warmUp();
  torch::nn::Linear conv{nullptr};
  int64_t size = 0;
};

//--- net.cpp
#include "net.h"
Net::Net() : conv(register_module("conv", torch::nn::Linear(3, 3))) { size = sizes();
  warmUp();
  forward(torch::ones({3, 3}));
}
int64_t Net::sizes() { return probe() + 1; }
int64_t Net::probe() { return conv->forward(torch::zeros({1, 3})).numel(); }
void Net::warmUp() { conv->forward(torch::zeros({2, 3})); }
torch::Tensor Net::forward(torch::Tensor x) { return conv->forward(torch::zeros({3, 3})); }

//--- main.cpp
#include "net.h"
int main() {
  Net net;
  net.to(torch::kCUDA);
  net.warmUp();
}
