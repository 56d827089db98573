// A folder of a CMake project without a repository: the outermost CMakeLists.txt is its root, below which headers are looked for.
// RUN: rm -rf %t && mkdir -p %t/app %t/code/lib/part && cp %s %t/app/x.cpp && touch %t/CMakeLists.txt %t/app/CMakeLists.txt
// RUN: echo '#include "part/inner.h"' > %t/code/lib/outer.h && echo '#define INNER' > %t/code/lib/part/inner.h
// RUN: not %python %S/outside_git.py %t %devsan_check --torch=none --checks=device-bare-cuda --no-cache @/app -- -isystem %mock | FileCheck %s
// CHECK: x.cpp:[[#@LINE+10]]:{{.*}}[device-bare-cuda]
// CHECK-NOT: parsed in part

// Without one the file is by itself.
// RUN: rm %t/CMakeLists.txt %t/app/CMakeLists.txt
// RUN: %python %S/outside_git.py %t %devsan_check --torch=none --checks=device-bare-cuda --no-cache @/app -- -isystem %mock | FileCheck %s --check-prefix=LONE
// LONE: not found: lib/outer.h
#include <torch/torch.h>
#include "lib/outer.h"
#ifdef INNER
at::Tensor move(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
#endif
