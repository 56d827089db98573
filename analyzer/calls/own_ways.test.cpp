// Ways on which a program's data come to a device in other files: each read is reported.
// RUN: rm -rf %t && split-file %s %t && mkdir %t/app/.git
// RUN: not %devsan_check --checks=device-host-sync --torch=none --no-cache %t/app -- -std=c++17 -isystem %mock > %t/out.txt
// RUN: FileCheck %s --input-file=%t/out.txt --implicit-check-not='[device-'
// CHECK: read.cpp:4:{{.*}} [device-host-sync]
// CHECK: read.cpp:5:{{.*}} [device-host-sync]
// CHECK: read.cpp:6:{{.*}} [device-host-sync]
// CHECK: read.cpp:7:{{.*}} [device-host-sync]
// CHECK: read.cpp:8:{{.*}} [device-host-sync]
// CHECK: read.cpp:9:{{.*}} [device-host-sync]
// CHECK: read.cpp:10:{{.*}} [device-host-sync]
// CHECK: read.cpp:11:{{.*}} [device-host-sync]
// CHECK: read.cpp:12:{{.*}} [device-host-sync]

//--- app/read.h
#include <torch/torch.h>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>
extern torch::Tensor weights;
struct State {
  torch::Tensor started = torch::empty({0});
  std::vector<torch::Tensor> parts;
  std::queue<torch::Tensor> waiting;
  void fill(torch::Device device);
};
#define TIMES(code) for (int i = 0; i < 3; ++i) code
#define SHOW(x) total += x
static double total = 0;
void ofPair(const std::pair<torch::Tensor, torch::Tensor> &both);
void ofStart(const State &state);
void ofElement(const State &state);
void ofQueue(State &state);
void ofGlobal();
void ofCallback(torch::Tensor x);
void ofMacro(torch::Tensor x);
void ofChoice(torch::Tensor x, torch::Device device);
void ofLambda(torch::Device device);

//--- app/read.cpp
#include "read.h"
static const torch::Device kHost(torch::kCPU); // the file deals with devices

void ofPair(const std::pair<torch::Tensor, torch::Tensor> &both) { while (true) total += both.first.sum().item<double>(); }
void ofStart(const State &state) { while (true) total += state.started.sum().item<double>(); }
void ofElement(const State &state) { while (true) total += state.parts[0].sum().item<double>(); }
void ofQueue(State &state) { while (true) total += state.waiting.front().sum().item<double>(); }
void ofGlobal() { while (true) total += weights.sum().item<double>(); }
void ofCallback(torch::Tensor x) { while (true) total += x.sum().item<double>(); }
void ofMacro(torch::Tensor x) { TIMES(SHOW(x.sum().item<double>());) }
void ofChoice(torch::Tensor x, torch::Device device) { while (true) { if (x.device() != device) x = x.to(device); total += x.sum().item<double>(); } }
void ofLambda(torch::Device device) { auto moved = [&](torch::Tensor y) { return y.to(device); }; while (true) total += moved(torch::ones(3)).sum().item<double>(); }

//--- app/main.cpp
#include "read.h"
torch::Tensor load(int i);
torch::Tensor weights;
void State::fill(torch::Device device) {
  started = load(1).to(device);
  parts.resize(3);
  parts[0] = load(2).to(device);
  waiting.push(load(3).to(device));
}
void each(std::function<void(torch::Tensor)> call);
int main(int, char **argv) {
  torch::Device device(argv[1]);
  State state;
  state.fill(device);
  ofPair({load(4).to(device), load(5)});
  ofStart(state);
  ofElement(state);
  ofQueue(state);
  weights = load(6).to(device);
  ofGlobal();
  each(ofCallback);
  ofMacro(load(7).to(device));
  ofChoice(load(8), device);
  ofLambda(device);
}
