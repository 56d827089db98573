// Headers in a folder that the project's scripts name are its own code, also where the folder is found by other ways too.
// RUN: rm -rf %t && mkdir -p %t/.git %t/include/lib %t/python/csrc && touch %t/python/setup.py
// RUN: cp %s %t/python/csrc/x.cu
// RUN: echo 'include_directories(include %mock)' > %t/CMakeLists.txt
// RUN: echo 'target_compile_definitions(x PRIVATE -DSPLIT=  \<lib/of_others.h\>)' >> %t/CMakeLists.txt
// RUN: echo 'template <typename T> __global__ void fill(T *x) {}' > %t/include/lib/fill.cuh
// RUN: echo 'template <typename T> void launchFill(T *x) { fill<<<1, 32>>>(x); }' >> %t/include/lib/fill.cuh
// RUN: not %devsan_check --checks=device-missing-guard --torch=none --strict %t/python/csrc/x.cu | FileCheck %s --implicit-check-not='parsed in part'
// CHECK: x.cu:[[#@LINE+6]]:3: error: the kernel runs on the current device
// CHECK: fill.cuh:2:{{[0-9]+}}: note: launched here
#include <ATen/ATen.h>
#include <lib/fill.cuh>

void fillAll(at::Tensor x) {
  launchFill(x.data_ptr<float>());
}
