// A program has the state of its modules where it has all else, and tries them out on the CPU before they move. Whoever uses a
// library may move them elsewhere, and at any time.
// RUN: rm -rf %t && mkdir -p %t/program/.git %t/library/.git
// RUN: cp %s %t/program/net.cpp && cp %s %t/library/net.cpp
// RUN: echo '#include <torch/torch.h>' > %t/program/main.cpp
// RUN: echo 'void use(torch::Device); int main() { use(torch::kCUDA); }' >> %t/program/main.cpp
// RUN: echo '#include "net.cpp"' > %t/program/later.cpp
// RUN: echo 'void later(torch::Device device) { Tried tried; tried.to(device); tried.outputs(4); }' >> %t/program/later.cpp
// DEFINE: %{check} = %devsan_check --torch=none --no-cache --checks=device-unregistered-state,device-missing-device
// RUN: not %{check} %t/program/net.cpp -- -isystem %mock | FileCheck %s --check-prefixes=CHECK,PROGRAM --implicit-check-not='[device-'
// RUN: not %{check} %t/library/net.cpp -- -isystem %mock | FileCheck %s --check-prefixes=CHECK,LIBRARY --implicit-check-not='[device-'
#include <torch/torch.h>

struct Net : torch::nn::Module {
  explicit Net(torch::Device device) {
    conv_ = register_module("conv", torch::nn::Linear(3, 3));
    // LIBRARY: net.cpp:[[#@LINE+1]]:{{.*}} [device-unregistered-state]
    there_ = torch::ones({3}, torch::kCUDA);
    // CHECK: net.cpp:[[#@LINE+1]]:{{.*}} [device-unregistered-state]
    given_ = torch::ones({3}, device);
    // CHECK: net.cpp:[[#@LINE+1]]:{{.*}} [device-unregistered-state]
    host_ = torch::ones({3});
    size_ = sizeFor(3);
    start();
  }
  // LIBRARY: net.cpp:[[#@LINE+1]]:{{.*}} [device-missing-device]
  int64_t sizeFor(int64_t n) { return conv_->forward(torch::zeros({n, n})).numel(); }
  // LIBRARY: net.cpp:[[#@LINE+1]]:{{.*}} [device-missing-device]
  void start() { state_ = conv_->forward(torch::zeros({3, 3})); }
  torch::Tensor forward(torch::Tensor x) { return conv_->forward(x) * there_ + given_ + host_ + state_; }

  torch::nn::Linear conv_{nullptr};
  torch::Tensor there_, given_, host_, state_;
  int64_t size_ = 0;
};
// The caller need not name the device.
struct Scaled : torch::nn::Module {
  explicit Scaled(torch::Device device = torch::kCPU) {
    // CHECK: net.cpp:[[#@LINE+1]]:{{.*}} [device-unregistered-state]
    scale_ = torch::ones({3}, device);
  }
  torch::Tensor forward(torch::Tensor x) { return x * scale_; }
  torch::Tensor scale_;
};
// The constructor has moved it before, or others call it later.
struct Moved : torch::nn::Module {
  explicit Moved(torch::Device device) {
    conv_ = register_module("conv", torch::nn::Linear(3, 3));
    to(device);
    size_ = sizeOf(3);
  }
  // CHECK: net.cpp:[[#@LINE+1]]:{{.*}} [device-missing-device]
  int64_t sizeOf(int64_t n) { return conv_->forward(torch::zeros({n, n})).numel(); }
  torch::nn::Linear conv_{nullptr};
  int64_t size_ = 0;
};
struct Tried : torch::nn::Module {
  Tried() {
    conv_ = register_module("conv", torch::nn::Linear(3, 3));
    size_ = outputs(3);
  }
  // CHECK: net.cpp:[[#@LINE+1]]:{{.*}} [device-missing-device]
  int64_t outputs(int64_t n) { return conv_->forward(torch::zeros({n, n})).numel(); }
  torch::nn::Linear conv_{nullptr};
  int64_t size_ = 0;
};
// PROGRAM: 1 finding left out: waits and places of data that the program wants as they are

void later(torch::Device device);
void use(torch::Device device) {
  Net net(device);
  net.to(device);
  net.forward(torch::ones({3, 3}, device));
  Scaled scaled;
  scaled.to(device);
  scaled.forward(torch::ones({3, 3}, device));
  Moved moved(device);
  later(device);
}
