// LibTorch is where --torch says, seen from here and not from the project.
// RUN: rm -rf %t && mkdir -p %t/project/.git %t/torch/include/torch/csrc/api/include/torch && cp %s %t/project/x.cpp
// RUN: echo '#include "%mock/torch/torch.h"' > %t/torch/include/torch/csrc/api/include/torch/torch.h
// RUN: echo 'include_directories(%mock)' > %t/project/CMakeLists.txt
// RUN: cd %t && not %devsan_check --checks=device-bare-cuda --strict --torch=torch project/x.cpp | FileCheck %s

// Where none is wanted, none is missed.
// RUN: cd %t && %devsan_check --torch=none project/x.cpp | FileCheck %s --check-prefix=UNWANTED
// UNWANTED-NOT: no LibTorch found
// UNWANTED: parsed in part, not found: torch/
#include <torch/csrc/api/include/torch/torch.h>

at::Tensor moved(at::Tensor x) {
  return x.cpu().cuda();
}
// CHECK: x.cpp:[[#@LINE-2]]:18: warning: {{.*}}[device-bare-cuda]
