// What is believed of each function of a file, for people.
// RUN: rm -rf %t && mkdir -p %t/folder && cp %s %t/x.cpp && cp %s %t/folder/y.cpp && cp %s %t/folder/z.cpp
// RUN: %devsan_check --torch=none --dump-facts %t/x.cpp -- -isystem %mock -isystem %cuda_stubs > %t/facts
// RUN: FileCheck %s --match-full-lines --input-file=%t/facts
// It is the same each time, and goes to a file as well.
// RUN: %devsan_check --torch=none --dump-facts -o %t/again %t/x.cpp -- -isystem %mock -isystem %cuda_stubs
// RUN: diff %t/facts %t/again
// RUN: not %devsan_check --torch=none --dump-facts %t/absent.cpp 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: devsan check: error: {{.*}}absent.cpp: no such file or folder
// RUN: not %devsan_check --torch=none --dump-facts %t/folder 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: devsan check: error: --dump-facts takes one file, and there are 2
// RUN: %devsan_check --torch=none --dump-facts %t/x.cpp -- -isystem %cuda_stubs | FileCheck %s --check-prefix=PART
// PART: {{.*}}x.cpp: parsed in part, the first error: {{.*}}; not found: torch/torch.h; {{.*}}
// RUN: mkdir %t/example && %python %S/facts_example.py %S/../../docs/check.md %devsan_check %t/example -isystem %mock -isystem %cuda_stubs
// RUN: %devsan_check --help | FileCheck %s --check-prefix=HELP
// HELP: --dump-facts
#include <torch/torch.h>
#include <tuple>
// CHECK: {{.*}}x.cpp: deals with devices

// CHECK: function sum at [[#@LINE+1]]:8
double sum(std::vector<at::Tensor> batches, torch::Device device) {
  // CHECK-NEXT: [[#@LINE+2]]:22 factory 'torch::zeros({1}, device)', named aten::zeros
  // CHECK-NEXT: target: the device of 'device'
  at::Tensor total = torch::zeros({1}, device);
  // CHECK-NEXT: result: the device of 'device', without a graph
  // CHECK-NEXT: [[#@LINE-2]]:22 'total' is set: the device of 'device', without a graph
  for (at::Tensor batch : batches) {
    // CHECK: [[#@LINE+1]]:{{[0-9]+}} move 'batch.to(torch::kMPS)', named aten::to, of 'batch'
    at::Tensor there = batch.to(torch::kMPS);
    // CHECK: target: the current mps device; device named at [[#@LINE-1]]:{{[0-9]+}}
    // CHECK: on every step (in a loop)
    // CHECK: [[#@LINE+1]]:{{[0-9]+}} operator 'there.cpu().item()', named aten::item
    there.cpu().item();
    // CHECK-NEXT: operand 'there.cpu()': the CPU; copied to the host at [[#@LINE-1]]:11
  }
  // CHECK: [[#@LINE+1]]:16 operator 'total.item()', named aten::item, of 'total'
  return total.item().toDouble();
  // CHECK: at the end 'total': the device of 'device', without a graph
}

// CHECK: function same at [[#@LINE+1]]:34
template <typename T> at::Tensor same(at::Tensor x) { return x.to(torch::kMPS); }
// CHECK: function same<float> at [[#@LINE-1]]:34
at::Tensor use(at::Tensor x) { return same<float>(x); }

at::Tensor made(int i);
// CHECK: function takenApart at [[#@LINE+1]]:8
double takenApart(at::Tensor x) {
  // CHECK: [[#@LINE+1]]:{{[0-9]+}} '[least, where]' is set: the CPU; copied to the host at {{.*}}
  auto [least, where] = std::make_tuple(x.cpu(), x.cpu());
  // CHECK: operand 'made(1)': where code of another file left 'made'
  return made(1).item().toDouble() + least.item().toDouble();
}

struct Net : torch::nn::Module {
// CHECK: module Net at [[#@LINE-1]]:8
  Net() : scale(torch::ones({3})) { weight = register_parameter("weight", torch::zeros({3})); }
  // CHECK: member scale at [[#@LINE+1]]:14: tensors, not registered, set at [[#@LINE-1]]:17 on the CPU, by default{{.*}}
  at::Tensor scale;
  // CHECK: member weight at [[#@LINE+1]]:14: tensors, registered{{.*}}
  at::Tensor weight;
  at::Tensor forward(at::Tensor x) { return x * scale * weight; }
};
