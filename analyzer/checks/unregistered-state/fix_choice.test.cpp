// A registered member has a key in checkpoints. So `--fix` leaves it alone and the report says so; `--fix=all` registers.
// RUN: rm -rf %t && mkdir %t && cp %s %t/a.cpp
// RUN: not %devsan_check --checks=device-unregistered-state --torch=none --fix %t/a.cpp -- -std=c++20 -isystem %mock | FileCheck %s --check-prefix=SAID
// RUN: cmp %s %t/a.cpp
// RUN: not clang-tidy-22 --load=%plugin --checks=-*,device-unregistered-state --warnings-as-errors=* --fix --quiet %t/a.cpp -- -std=c++20 -isystem %mock
// RUN: cmp %s %t/a.cpp
// RUN: not %devsan_check --checks=device-unregistered-state --torch=none --fix=all,dry-run %t/a.cpp -- -std=c++20 -isystem %mock | FileCheck %s --check-prefix=SHOWN
// RUN: cmp %s %t/a.cpp
// A fix that adds an error is taken back, and the report says so; others in the file are made.
// RUN: not %devsan_check --checks=device-unregistered-state --torch=none --fix=all %t/a.cpp -- -std=c++20 -isystem %mock | FileCheck %s --check-prefix=TAKEN
// RUN: FileCheck %s --check-prefix=FIXED --input-file=%t/a.cpp
// RUN: not %devsan_check --fix=some %t/a.cpp 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: --fix=some is unknown; valid: --fix writes the sources, --fix=dry-run shows how, --fix=all and --fix=all,dry-run do so for every fix
#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
  // SAID: a.cpp:[[@LINE+4]]:15: error: submodule 'fc' of module 'NetImpl'
  // SAID: fix: devsan check --fix=all makes this change; registered, it has a key in checkpoints: those saved before lack it, and loading them fails
  // SHOWN: +  NetImpl() : fc(register_module("fc", torch::nn::Linear(2, 3))) {}
  // FIXED: {{^}}  NetImpl() : fc(register_module("fc", torch::nn::Linear(2, 3))) {}
  NetImpl() : fc(2, 3) {}
  torch::nn::Linear fc;
};

struct HidingImpl : torch::nn::Module {
  // TAKEN: a.cpp:[[@LINE+3]]:18: error: submodule 'fc' of module 'HidingImpl'
  // TAKEN: note: {{.*}}a.cpp:[[@LINE+2]]: not fixed, the file would not parse with the fix
  // FIXED: {{^}}  HidingImpl() : fc(2, 3) {}
  HidingImpl() : fc(2, 3) {}
  void register_module(int) {}
  torch::nn::Linear fc;
};
