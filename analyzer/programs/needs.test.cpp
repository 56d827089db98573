// What a finding of each rule takes for granted of its program: some device, or a second one.
// DEFINE: %{check} = %devsan_check --torch=none --no-cache
// DEFINE: %{flags} = -std=c++17 -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/host/.git %t/first/.git
// RUN: %{check} %t/host/work.cpp -- %{flags} | FileCheck %s --check-prefix=NONE
// RUN: %{check} %t/first/work.cpp -- %{flags} | FileCheck %s --check-prefix=NONE
// NONE: no findings
// RUN: sed -i 's/device(torch::kCPU)/device(std::string("cuda"))/' %t/host/main.cpp && sed -i 's/(0)/(1)/' %t/first/work.cpp
// RUN: not %{check} %t/host/work.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-'
// CHECK: work.cpp:5:{{.*}} [device-cpu-round-trip]
// CHECK: work.cpp:10:{{.*}} [device-module-replaced-after-to]
// CHECK: work.cpp:14:{{.*}} [device-load-without-device]
// A program that saves what it loads brings it to its device itself.
// RUN: cp -r %t/host %t/saves && echo 'void keep(torch::Tensor x) { torch::save(x, "net.pt"); }' >> %t/saves/main.cpp
// RUN: not %{check} %t/saves/work.cpp -- %{flags} | FileCheck %s --check-prefix=SAVES --implicit-check-not='[device-'
// RUN: cp -r %t/host %t/saved && echo '// torch::save(x, "net.pt");' >> %t/saved/main.cpp
// RUN: not %{check} %t/saved/work.cpp -- %{flags} | FileCheck %s --check-prefix=SAVES --implicit-check-not='[device-'
// SAVES: work.cpp:5:{{.*}} [device-cpu-round-trip]
// SAVES: work.cpp:10:{{.*}} [device-module-replaced-after-to]
// RUN: not %{check} %t/first/work.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=SECOND
// SECOND: work.cpp:2:{{.*}} [device-raw-set-device]

//--- host/work.h
#include <torch/script.h>
#include <torch/torch.h>
torch::Tensor normalized(torch::Tensor x, torch::Device device);
void exchange(torch::nn::Sequential net, torch::Device device);
torch::Tensor embedded(const std::string &path, torch::Device device);

//--- host/work.cpp
#include "work.h"

torch::Tensor normalized(torch::Tensor x, torch::Device device) {
  torch::Tensor host = x.to(torch::kCPU);
  return (host / 255).to(device);
}

void exchange(torch::nn::Sequential net, torch::Device device) {
  net->to(device);
  net->push_back(torch::nn::Linear(3, 3));
}
torch::Tensor embedded(const std::string &path, torch::Device device) {
  auto x = torch::ones({3}, device);
  auto model = torch::jit::load(path);
  return model.forward({x}).toTensor();
}

//--- host/main.cpp
#include "work.h"
int main() {
  torch::Device device(torch::kCPU);
  normalized(torch::ones({3}), device);
  exchange({}, device);
  embedded("net.pt", device);
}

//--- first/work.cpp
#include <cuda_runtime_api.h>
void choose() { cudaSetDevice(0); }
int main() { choose(); }
