// At a terminal the command ends with its findings, and keeps LibTorch's headers behind them: whoever reads its output
// to the end, terminal and pipe, does not wait for that, but the next run does.
// DEFINE: %{check} = env XDG_CACHE_HOME=%t/cache %devsan_check --checks=device-bare-cuda --strict --torch=%torch_dir
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/x.cpp
// RUN: not %python %S/at_terminal.py '%t/cache/devsan/torch-headers/*.sum' %{check} %t/x.cpp -- 2> %t/progress | FileCheck %s
// RUN: FileCheck %s --input-file=%t/progress --check-prefix=PARSES
// PARSES: parsing LibTorch's headers
// RUN: rm -r %t/cache/devsan/results
// RUN: not %{check} %t/x.cpp -- 2> %t/progress | FileCheck %s
// RUN: FileCheck %s --input-file=%t/progress --check-prefix=LOADS --allow-empty
// LOADS-NOT: parsing LibTorch's headers
// RUN: ls %t/cache/devsan/torch-headers | FileCheck %s --check-prefix=KEPT
// KEPT: .pch
// KEPT-NEXT: .pch.lock
// KEPT-NEXT: .pch.sum
// Where nothing can be kept, nothing is promised.
// RUN: not env -u XDG_CACHE_HOME HOME=/proc/none %python %S/at_terminal.py '' %devsan_check --checks=device-bare-cuda --strict --torch=%torch_dir %t/x.cpp -- 2> %t/progress | FileCheck %s
// RUN: FileCheck %s --input-file=%t/progress --check-prefix=CANNOT --implicit-check-not="the next run"
// CANNOT: parsing LibTorch's headers{{.*}}; they cannot be kept: set XDG_CACHE_HOME
#include <ATen/core/Tensor.h>

at::Tensor moved(at::Tensor x) {
  return x.cpu().cuda();
}

// CHECK: x.cpp:[[#@LINE-3]]:18: warning: {{.*}}[device-bare-cuda]
// CHECK: devsan check: failed because of 1 {{warning|error}}: 1 file: 1 finding
