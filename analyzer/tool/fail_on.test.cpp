// Which findings make the exit status 1; all of them are shown.
// RUN: rm -rf %t && mkdir -p %t
// RUN: cp %s %t/x.cpp
// RUN: not %devsan_check --checks=device-raw-set-device --torch=none %t/x.cpp -- -isystem %mock -isystem %cuda_stubs | FileCheck %s -DVERDICT='failed because of 1 warning'
// RUN: %devsan_check --fail-on=error --checks=device-raw-set-device --torch=none %t/x.cpp -- -isystem %mock -isystem %cuda_stubs | FileCheck %s -DVERDICT='passed'
// RUN: not %devsan_check --fail-on=error,device-raw-set-device --checks=device-raw-set-device --torch=none %t/x.cpp -- -isystem %mock -isystem %cuda_stubs | FileCheck %s -DVERDICT='failed because of 1 device-raw-set-device'
// RUN: %devsan_check --fail-on=none --checks=device-raw-set-device --torch=none %t/x.cpp -- -isystem %mock -isystem %cuda_stubs | FileCheck %s -DVERDICT='passed'
// CHECK: x.cpp:[[#]]:3: warning: {{.*}} [device-raw-set-device]
// CHECK: devsan check: [[VERDICT]]: 1 file: 1 finding (0 errors, 1 warning, 0 notes)

// The project's, unless the command line says something else.
// RUN: printf '[check]\nfail-on = ["error", "device-host-sync"]\n' > %t/.devsan.toml
// RUN: %devsan_check --checks=device-raw-set-device --torch=none %t/x.cpp -- -isystem %mock -isystem %cuda_stubs
// RUN: not %devsan_check --fail-on=warning --checks=device-raw-set-device --torch=none %t/x.cpp -- -isystem %mock -isystem %cuda_stubs

// RUN: not %devsan_check --fail-on=warnings --torch=none %t/x.cpp 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: devsan check: error: --fail-on: unknown rule or severity 'warnings' (did you mean 'warning'?); valid: note, warning, error, none, device-
// RUN: printf '[check]\nfail-on = "warnings"\n' > %t/.devsan.toml
// RUN: not %devsan_check --torch=none %t/x.cpp 2>&1 | FileCheck %s --check-prefix=SETTING
// SETTING: .devsan.toml:2: 'fail-on': unknown rule or severity 'warnings'
#include <c10/cuda/CUDAFunctions.h>
#include <torch/torch.h>

void choose(at::Tensor x) {
  cudaSetDevice(x.get_device());
}
