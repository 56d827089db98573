// A folder of a CMake project without a repository: the outermost CMakeLists.txt that begins a project is its root, below which headers are looked for.
// RUN: rm -rf %t && mkdir -p %t/app %t/code/lib/part && cp %s %t/app/x.cpp && touch %t/app/CMakeLists.txt
// RUN: printf 'cmake_minimum_required(VERSION 3.20)\n  Project (x)\n' > %t/CMakeLists.txt
// RUN: echo '#include "part/inner.h"' > %t/code/lib/outer.h && echo '#define INNER' > %t/code/lib/part/inner.h
// RUN: not %python %S/outside_git.py %t %devsan_check --torch=none --checks=device-bare-cuda --no-cache @/app -- -isystem %mock | FileCheck %s
// CHECK: x.cpp:[[#@LINE+19]]:{{.*}}[device-bare-cuda]
// CHECK-NOT: parsed in part

// A stray one is no root: it begins no project, it is in the home, or everybody can write there.
// DEFINE: %{stray} = %python %S/outside_git.py %t %devsan_check --torch=none --checks=device-bare-cuda --no-cache @/app -- -isystem %mock
// RUN: chmod o+w %t && %{stray} | FileCheck %s --check-prefix=LONE
// RUN: chmod o-w %t && chmod +t %t && %{stray} | FileCheck %s --check-prefix=LONE
// RUN: chmod -t %t && %python %S/outside_git.py %t env HOME=@ %devsan_check --torch=none --checks=device-bare-cuda --no-cache @/app -- -isystem %mock | FileCheck %s --check-prefix=LONE
// RUN: not %{stray} | FileCheck %s
// RUN: echo '# project(x)' > %t/CMakeLists.txt && %{stray} | FileCheck %s --check-prefix=LONE
// RUN: echo 'projects(x)' > %t/CMakeLists.txt && %{stray} | FileCheck %s --check-prefix=LONE

// Without one the file is by itself.
// RUN: rm %t/CMakeLists.txt %t/app/CMakeLists.txt
// RUN: %{stray} | FileCheck %s --check-prefix=LONE
// LONE: not found: lib/outer.h
#include <torch/torch.h>
#include "lib/outer.h"
#ifdef INNER
at::Tensor move(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
#endif
