// LibTorch's headers are kept precompiled: with them, without them and with damaged ones the findings are the same.
// DEFINE: %{check} = env XDG_CACHE_HOME=%t/cache %devsan_check --checks=device-bare-cuda --strict --torch=%torch_dir
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/x.cpp && cp %s %t/y.cpp
// RUN: not %{check} -j2 %t/x.cpp %t/y.cpp -- > %t/cold
// RUN: FileCheck %s --input-file=%t/cold
// RUN: ls %t/cache/devsan/torch-headers | FileCheck %s --check-prefix=KEPT
// KEPT: .pch
// KEPT-NEXT: .pch.sum
// RUN: rm -r %t/cache/devsan/results
// RUN: not %{check} -j2 %t/x.cpp %t/y.cpp -- > %t/warm
// RUN: diff %t/cold %t/warm

// Damage that the checksum tells.
// RUN: rm -r %t/cache/devsan/results && %python %S/damage.py %t/cache/devsan/torch-headers
// RUN: not %{check} -j1 %t/x.cpp -- | FileCheck %s --check-prefix=ONE
// And what it does not tell: headers of other flags under this one's name, which clang does not load.
// RUN: not %{check} -j1 %t/x.cpp -- -DOTHER | FileCheck %s --check-prefix=ONE
// RUN: rm -r %t/cache/devsan/results && %python %S/swap_headers.py %t/cache/devsan/torch-headers
// RUN: not %{check} -j1 %t/x.cpp -- | FileCheck %s --check-prefix=ONE

// A file that includes a neighbour is read behind the kept headers too: what fails there is done again without them, and they are removed.
// RUN: rm -rf %t/cache && echo '#include <ATen/core/Tensor.h>' > %t/neighbour.h
// RUN: echo '#include "neighbour.h"' > %t/z.cpp && tail -n +2 %s >> %t/z.cpp
// RUN: not %{check} -j1 %t/z.cpp -- && ls -i %t/cache/devsan/torch-headers > %t/stored
// RUN: rm -r %t/cache/devsan/results && not %{check} -j1 %t/z.cpp -- && ls -i %t/cache/devsan/torch-headers | diff %t/stored -
// RUN: rm -rf %t
#include <ATen/core/Tensor.h>

at::Tensor moved(at::Tensor x) {
  return x.cpu().cuda();
}

// CHECK: x.cpp:[[#@LINE-3]]:18: warning: {{.*}}[device-bare-cuda]
// CHECK: y.cpp:[[#@LINE-4]]:18: warning: {{.*}}[device-bare-cuda]
// CHECK: devsan check: failed because of 2 warnings: 2 files: 2 findings
// ONE: x.cpp:[[#@LINE-6]]:18: warning: {{.*}}[device-bare-cuda]
// ONE: devsan check: failed because of 1 warning: 1 file: 1 finding
