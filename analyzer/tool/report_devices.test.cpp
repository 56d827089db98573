// Findings say what is called and between which devices, as those of a run do; nothing where the facts do not tell.
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/x.cpp
// RUN: not %devsan_check --alone --torch=none --format=json -o %t/report.json %t/x.cpp -- -isystem %mock -isystem %cuda_stubs
// RUN: %python %S/report_devices.py %t/report.json | sort -n | FileCheck %s --implicit-check-not=device-
// The same from the cache, and in SARIF.
// RUN: not %devsan_check --alone --torch=none --format=json -o %t/again.json %t/x.cpp -- -isystem %mock -isystem %cuda_stubs
// RUN: %python %S/report_devices.py %t/again.json | sort -n | FileCheck %s --implicit-check-not=device-
// RUN: not %devsan_check --alone --torch=none --format=sarif -o %t/report.sarif %t/x.cpp -- -isystem %mock -isystem %cuda_stubs
// RUN: FileCheck %s --check-prefix=SARIF --input-file=%t/report.sarif
// SARIF: "from": "cuda:1"
// SARIF-NEXT: "to": "cpu"
// SARIF-NEXT: "op": "aten::item"
#include <torch/torch.h>

void onEveryStep(at::Tensor x, torch::Device device) {
  // CHECK: [[#@LINE+1]] device-bare-cuda aten::to: ? to cuda:1
  at::Tensor there = x.to(torch::Device("cuda:1"));
  for (int i = 0; i < 100; ++i) {
    // CHECK: [[#@LINE+1]] device-host-sync aten::item: cuda:1 to cpu
    there.sum().item();
    // CHECK: [[#@LINE+1]] device-host-sync aten::nonzero: ? to cpu
    torch::nonzero(x);
    // CHECK: [[#@LINE+1]] device-host-sync aten::to: cuda:1 to cpu
    at::Tensor read = there.cpu();
    // CHECK: [[#@LINE+1]] device-host-sync aten::to: cpu to ?
    at::Tensor made = torch::tensor({1.0f, 2.0f}, device);
  }
}

at::Tensor onTheCurrentOne(at::Tensor x) {
  // CHECK: [[#@LINE+1]] device-bare-cuda aten::to: cpu to cuda
  at::Tensor noise = torch::randn({3}).cuda();
  // CHECK: [[#@LINE+1]] device-bare-cuda aten::zeros: ? to cuda:1
  at::Tensor zeros = torch::zeros({3}, torch::Device("cuda:1"));
  // CHECK: [[#@LINE+1]] device-missing-device aten::mul: cpu to ?
  return x * torch::ones({3});
}

at::Tensor meets(at::Tensor x) {
  at::Tensor there = x.to(torch::kMPS);
  // CHECK: [[#@LINE+1]] device-missing-device aten::add_: cpu to mps
  there += torch::ones({3});
  return there;
}

at::Tensor roundTrip(at::Tensor x, torch::Device device) {
  // CHECK: [[#@LINE+1]] device-bare-cuda aten::to: ? to cuda:1
  at::Tensor there = x.to(torch::Device("cuda:1"));
  // CHECK: [[#@LINE+1]] device-cpu-round-trip aten::to: cuda:1 to ?
  return there.cpu().to(device);
}

void pageable() {
  std::vector<float> data(4);
  at::Tensor host = torch::from_blob(data.data(), {4});
  // CHECK: [[#@LINE+1]] device-pageable-async-copy aten::to: cpu to mps
  at::Tensor moved = host.to(torch::kMPS, /*non_blocking=*/true);
}

void replaced(torch::nn::Sequential net, torch::Device device) {
  net->to(torch::kMPS);
  // CHECK: [[#@LINE+1]] device-module-replaced-after-to ?: cpu to mps
  net->push_back(torch::nn::Linear(2, 2));
}
