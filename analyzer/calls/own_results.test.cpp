// What a call returns lies where its own arguments do, whatever other calls of the function are given; and an override is given what
// callers give the method that it overrides.
// DEFINE: %{check} = %devsan_check --checks=device-host-sync --torch=none --no-cache
// DEFINE: %{flags} = -std=c++17 -isystem %mock
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/.git && touch %t/setup.py
// RUN: not %{check} %t -- %{flags} > %t/all.txt
// RUN: FileCheck %s --input-file=%t/all.txt --implicit-check-not='[device-'
// CHECK: net.cpp:25:{{.*}} 'x.sum().item<double>()' {{.*}} [device-host-sync]
// CHECK: net.cpp:44:{{.*}} 'x[i].item<double>()' {{.*}} [device-host-sync]
// CHECK: use.cpp:7:{{.*}} 'of_device.sum().item<double>()' {{.*}} [device-host-sync]
// CHECK: use.cpp:15:{{.*}} 'moved(x).sum().item<double>()' {{.*}} [device-host-sync]
// CHECK: use.cpp:22:{{.*}} 'either.sum().item<double>()' {{.*}} [device-host-sync]
// CHECK: use.cpp:29:{{.*}} 'held(x).sum().item<double>()' {{.*}} [device-host-sync]
// CHECK: use.cpp:34:{{.*}} 'put(x, torch::kCUDA).sum().item<double>()' {{.*}} [device-host-sync]
// What is left to a default, or lies in what else a call is given, and what a function does with its arguments.
// CHECK: use.cpp:50:{{.*}} 'byDefault(x).sum().item<double>()' {{.*}} [device-host-sync]
// CHECK: use.cpp:51:{{.*}} 'ofConfig(config, x).sum().item<double>()' {{.*}} [device-host-sync]
// CHECK: use.cpp:52:{{.*}} 'byLambda(x).sum().item<double>()' {{.*}} [device-host-sync]
// CHECK: use.cpp:53:{{.*}} 'first(x).sum().item<double>()' {{.*}} [device-host-sync]
// CHECK: use.cpp:54:{{.*}} 'run(mover, x).sum().item<double>()' {{.*}} [device-host-sync]
// One file, and summaries of each, show the same.
// RUN: not %{check} %t/use.cpp -- %{flags} | FileCheck %s --check-prefix=ONE
// ONE-COUNT-10: use.cpp:{{.*}} [device-host-sync]
// ONE-NOT: [device-
// RUN: %{check} --root=%t --summary=%t/one %t/use.cpp -- %{flags} && %{check} --root=%t --summary=%t/two %t/net.cpp -- %{flags}
// RUN: cd %t && not %devsan_check --root=. --from-summaries one two | FileCheck %s --implicit-check-not='[device-'

//--- net.h
#include <torch/torch.h>
struct NetImpl : torch::nn::Module {
  torch::nn::Linear fc{3, 3};
  torch::Tensor forward(torch::Tensor x);
};
TORCH_MODULE(Net);
torch::Tensor doubled(torch::Tensor x);
torch::Tensor twice(torch::Tensor x);
torch::Tensor moved(torch::Tensor x);
torch::Tensor held(torch::Tensor x);
torch::Tensor put(torch::Tensor x, torch::Device device);
void keep(torch::Tensor x);
struct Config {
  torch::Device device{torch::kCUDA};
};
struct MoverImpl : torch::nn::Module {
  torch::nn::Linear fc{3, 3};
  torch::Tensor forward(torch::Tensor x);
};
TORCH_MODULE(Mover);
torch::Tensor byDefault(torch::Tensor x, torch::Device device = torch::kCUDA);
torch::Tensor ofConfig(const Config &config, torch::Tensor x);
torch::Tensor byLambda(torch::Tensor x);
torch::Tensor first(torch::Tensor x);
torch::Tensor run(Mover mover, torch::Tensor x);
struct Stage {
  virtual ~Stage() = default;
  virtual double run(torch::Tensor x) = 0;
};
struct Sum : Stage {
  double run(torch::Tensor x) override;
};
struct Part {
  virtual ~Part() = default;
  virtual double run(torch::Tensor x) = 0;
};
struct Middle : Part {
  double run(torch::Tensor x) override = 0;
};
struct Last : Middle {
  double run(torch::Tensor x) override;
};
struct Printer {
  virtual ~Printer() = default;
  virtual double print(torch::Tensor x) = 0;
};

//--- net.cpp
#include "net.h"
static torch::Tensor kept;
torch::Tensor NetImpl::forward(torch::Tensor x) { return fc->forward(x); }
torch::Tensor doubled(torch::Tensor x) { return x + x; }
torch::Tensor twice(torch::Tensor x) { return doubled(doubled(x)); }
torch::Tensor moved(torch::Tensor x) { return x.to(torch::kCUDA); }
void keep(torch::Tensor x) { kept = x; }
torch::Tensor held(torch::Tensor x) { return x.numel() ? x : kept; }
torch::Tensor put(torch::Tensor x, torch::Device device) { return x.to(device); }
double Sum::run(torch::Tensor x) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    total += x[i].item<double>();
  return total;
}
namespace {
// The file does not call it, others do.
struct Plain : Printer {
  double print(torch::Tensor x) override;
  double own(torch::Tensor x) { return print(x); }
};
double Plain::print(torch::Tensor x) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    total += x.sum().item<double>();
  return total;
}
} // namespace
double ofHost(Plain &plain) { return plain.own(torch::ones({3})); }
torch::Tensor byDefault(torch::Tensor x, torch::Device device) { return x.to(device); }
torch::Tensor ofConfig(const Config &config, torch::Tensor x) { return x.to(config.device); }
torch::Tensor byLambda(torch::Tensor x) {
  auto up = [](torch::Tensor t) { return t.to(torch::kCUDA); };
  return up(x);
}
torch::Tensor first(torch::Tensor x) {
  static torch::Tensor kept_first = x;
  return kept_first;
}
torch::Tensor MoverImpl::forward(torch::Tensor x) { return fc->forward(x.to(torch::kCUDA)); }
torch::Tensor run(Mover mover, torch::Tensor x) { return mover->forward(x); }
double Last::run(torch::Tensor x) {
  double total = 0;
  for (int i = 0; i < 3; ++i) total += x[i].item<double>();
  return total;
}

//--- use.cpp
#include "net.h"
double train(Net net, torch::Tensor data) {
  net->to(torch::kCUDA);
  double total = 0;
  for (int i = 0; i < 3; ++i) {
    torch::Tensor of_device = twice(net->forward(data.to(torch::kCUDA)));
    total += of_device.sum().item<double>();
  }
  return total;
}
double place(Stage &stage, Printer &printer) {
  torch::Tensor x = torch::ones({3});
  double total = stage.run(twice(x)) + printer.print(x.cuda());
  for (int i = 0; i < 3; ++i)
    total += moved(x).sum().item<double>();
  return total;
}
double choose(bool fast) {
  double total = 0;
  for (int i = 0; i < 3; ++i) {
    torch::Tensor either = fast ? doubled(torch::ones({3}).cuda()) : doubled(torch::ones({3}));
    total += either.sum().item<double>(); }
  return total;
}
double hold(torch::Tensor x) {
  x = torch::ones({3});
  double total = 0;
  keep(torch::ones({3}).cuda());
  for (int i = 0; i < 3; ++i) total += held(x).sum().item<double>();
  return total;
}
double onDevices() {
  torch::Tensor x = torch::ones({3}); double total = 0;
  for (int i = 0; i < 3; ++i) total += put(x, torch::kCUDA).sum().item<double>();
  for (int i = 0; i < 3; ++i) total += put(x, torch::kCPU).sum().item<double>();
  return total;
}
double play(Net net, torch::Tensor x) {
  net->to(torch::kCPU);
  double total = 0;
  for (int i = 0; i < 3; ++i) {
    torch::Tensor y = torch::zeros({1, 3});
    total += net->forward(y)[0][0].item<double>() + twice(y).sum().item<double>() + doubled(doubled(y).cpu()).sum().item<double>();
  }
  return total;
}
double rest(Mover mover, const Config &config, torch::Tensor x, Middle &middle, Part &part) {
  x = torch::ones({3}); double total = middle.run(x) + part.run(x.cuda());
  for (int i = 0; i < 3; ++i) {
    total += byDefault(x).sum().item<double>();
    total += ofConfig(config, x).sum().item<double>();
    total += byLambda(x).sum().item<double>();
    total += first(x).sum().item<double>();
    total += run(mover, x).sum().item<double>();
  }
  return total;
}
