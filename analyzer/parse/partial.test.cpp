// A missing header does not stop the analysis; the summary says so, --strict makes it a failure, and nothing is fixed.
// RUN: not %check_mock --checks=device-raw-set-device | FileCheck %s
// CHECK: :[[#@LINE+11]]:3: warning: the caller's current device is changed and not restored [device-raw-set-device]
// CHECK: devsan check: note: {{.*}}partial.test.cpp: parsed in part, not found: no/such/header.h; 1 error, the first: {{.*}}partial.test.cpp:[[#@LINE+13]]: {{.*}}no_such_member
// RUN: cp %s %t.cpp
// RUN: not %devsan_check --checks=device-raw-set-device --torch=none --strict --fix %t.cpp -- -isystem %mock -isystem %cuda_stubs
// RUN: diff %s %t.cpp
#include <c10/cuda/CUDAGuard.h>
#include <no/such/header.h>
#include <torch/torch.h>

void choose(const at::Tensor &x) {

  cudaSetDevice(x.get_device());
}

int unknown = at::Tensor::no_such_member;
