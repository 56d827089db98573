// In a program data come from the program itself. What none of its files brings to a device is taken for the host's, whether
// it is known to be or not; one way on which a device is named is enough. A library gets its data from others.
// DEFINE: %{check} = %devsan_check --checks=device-host-sync,device-missing-device --torch=none --no-cache
// DEFINE: %{flags} = -std=c++17 -isystem %mock
// RUN: rm -rf %t && split-file %s %t && mkdir %t/app/.git
// RUN: %{check} %t/app -- %{flags} > %t/app.txt || true
// RUN: FileCheck %s --input-file=%t/app.txt --implicit-check-not='[device-'
// CHECK: main.cpp:4:{{.*}} [device-host-sync]
// CHECK: net.cpp:6:{{.*}} [device-host-sync]
// CHECK: sum.cpp:12:{{.*}} [device-host-sync]
// CHECK: sum.cpp:17:{{.*}} [device-host-sync]
// CHECK: sum.cpp:22:{{.*}} [device-host-sync]
// CHECK: sum.cpp:27:{{.*}} [device-host-sync]
// CHECK: 4 findings left out: they need a device or stream that no file of the program chooses
// One file shows the same.
// RUN: not %{check} %t/app/sum.cpp -- %{flags} | FileCheck %s --check-prefix=ONE --implicit-check-not='[device-'
// ONE: sum.cpp:12:{{.*}} [device-host-sync]
// ONE: sum.cpp:17:{{.*}} [device-host-sync]
// ONE: sum.cpp:22:{{.*}} [device-host-sync]
// ONE: sum.cpp:27:{{.*}} [device-host-sync]
// RUN: touch %t/app/setup.py && not %{check} %t/app/sum.cpp -- %{flags} | FileCheck %s --check-prefix=LIBRARY
// RUN: rm %t/app/setup.py && not %{check} --alone %t/app/sum.cpp -- %{flags} | FileCheck %s --check-prefix=LIBRARY
// LIBRARY: sum.cpp:5:{{.*}} [device-host-sync]
// LIBRARY: sum.cpp:32:{{.*}} [device-host-sync]
// LIBRARY: sum.cpp:37:{{.*}} [device-host-sync]
// LIBRARY: sum.cpp:42:{{.*}} [device-missing-device]

//--- app/sum.h
#include <torch/torch.h>
struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x);
};
TORCH_MODULE(Net);
struct Batch {
  torch::Tensor data, target;
};
struct Stage {
  virtual ~Stage() = default;
  virtual double run(torch::Tensor x) = 0;
};
struct Sum : Stage {
  double run(torch::Tensor x) override;
};
double ofUnknown(torch::Tensor x);
double ofModel(torch::Tensor x);
double ofMember(const Batch &batch);
double ofOtherMember(const Batch &batch);
double handedOn(torch::Tensor x);
double ofList(std::vector<torch::Tensor> all);
torch::Tensor scores(torch::Tensor x);
double ofScores(torch::Tensor x);
torch::Tensor framed(torch::Tensor x);

//--- app/sum.cpp
#include "sum.h"
double ofUnknown(torch::Tensor x) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    total += x[i].item<double>();
  return total;
}

double ofModel(torch::Tensor x) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    total += x[i].item<double>();
  return total;
}
double ofMember(const Batch &batch) {
  double total = 0;
  for (int i = 0; i < 3; ++i) total += batch.data[i].item<double>();
  return total;
}
double handedOn(torch::Tensor x) {
  double total = 0;
  for (int i = 0; i < 3; ++i) total += x[i].item<double>();
  return total;
}
double Sum::run(torch::Tensor x) {
  double total = 0;
  for (int i = 0; i < 3; ++i) total += x[i].item<double>();
  return total;
}
double ofOtherMember(const Batch &batch) {
  double total = 0;
  for (int i = 0; i < 3; ++i) total += batch.target[i].item<double>();
  return total;
}
double ofList(std::vector<torch::Tensor> all) {
  double total = 0;
  for (int i = 0; i < 3; ++i) total += all[i].item<double>();
  return total;
}

torch::Tensor framed(torch::Tensor x) {
  return torch::cat({x, torch::ones({3})});
}

//--- app/net.cpp
#include "sum.h"
torch::Tensor NetImpl::forward(torch::Tensor x) {
  double total = 0;

  for (int i = 0; i < 3; ++i)
    total += x[i].item<double>();
  return x * total;
}

torch::Tensor scores(torch::Tensor x) { return x.softmax(0); }

//--- app/main.cpp
#include "sum.h"
double ofScores(torch::Tensor x) {
  double total = 0;
  for (int i = 0; i < 3; ++i) total += scores(x)[i].item<double>();
  return total;
}
torch::Tensor read(const char *file);
double second(torch::Tensor x) { return handedOn(x + 1); }

int main(int, char **argv) {
  torch::Device device(argv[1]);
  auto loaded = read(argv[2]);
  ofUnknown(loaded);
  ofModel(loaded.to(device));
  Batch batch;
  batch.data = torch::ones({3}).to(torch::kCUDA);
  batch.target = read(argv[3]);
  Net net;
  net->forward(loaded);
  ofMember(batch);
  ofOtherMember(batch);
  second(loaded.to(device));
  Sum sum;
  Stage &stage = sum;
  stage.run(loaded.to(device));
  ofScores(loaded.to(device));
  ofList({loaded});
  framed(loaded);
}
