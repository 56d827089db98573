// LibTorch is where --torch says, seen from here and not from the project.
// RUN: rm -rf %t && mkdir -p %t/project/.git %t/torch/include/torch/csrc/api/include/torch && cp %s %t/project/x.cpp
// RUN: echo '#include "%mock/torch/torch.h"' > %t/torch/include/torch/csrc/api/include/torch/torch.h
// RUN: echo 'include_directories(%mock)' > %t/project/CMakeLists.txt
// RUN: cd %t && not %devsan_check --checks=device-bare-cuda --strict --torch=torch project/x.cpp | FileCheck %s

// Where there is none, the report says so once, with the remedy; not where none is wanted.
// RUN: mkdir -p %t/empty/bin && echo 'exit 1' > %t/empty/bin/python && chmod +x %t/empty/bin/python && cp %t/project/x.cpp %t/project/y.cpp
// RUN: cd %t && env VIRTUAL_ENV=%t/empty %devsan_check project/x.cpp project/y.cpp | FileCheck %s --check-prefix=NONE
// RUN: cd %t && %devsan_check --torch=none project/x.cpp | FileCheck %s --check-prefix=UNWANTED
// NONE: note: no LibTorch found in the Python environment; name the folder of the installed torch package with --torch=DIR
// NONE-NOT: no LibTorch found
// UNWANTED-NOT: no LibTorch found
// UNWANTED: parsed in part, not found: torch/
#include <torch/csrc/api/include/torch/torch.h>

at::Tensor moved(at::Tensor x) {
  return x.cpu().cuda();
}
// CHECK: x.cpp:[[#@LINE-2]]:18: warning: {{.*}}[device-bare-cuda]
