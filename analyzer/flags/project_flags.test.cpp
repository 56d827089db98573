// Without a compile_commands.json the flags come from setup.py, which is read and not executed, or from CMake.
// DEFINE: %{check} = %devsan_check --checks=device-raw-set-device --torch=none --strict
// RUN: rm -rf %t && mkdir -p %t/setup/csrc/inner %t/setup/vendor %t/cmake/src %t/cmake/vendor
// RUN: cp %s %t/setup/csrc/x.cpp && cp %s %t/setup/csrc/y.cu && cp %s %t/cmake/src/z.cpp
// RUN: echo '#define VENDOR' > %t/setup/vendor/vendor.h && cp %t/setup/vendor/vendor.h %t/cmake/vendor
// RUN: cp %S/Inputs/setup.py.txt %t/setup/setup.py && cp %S/Inputs/CMakeLists.txt %t/cmake
// RUN: sed -i 's|@MOCK@|%mock|; s|@STUBS@|%cuda_stubs|' %t/setup/setup.py %t/cmake/CMakeLists.txt
// RUN: not %{check} %t/setup/csrc/x.cpp | FileCheck %s --check-prefix=CXX --implicit-check-not=': warning:'
// CXX: x.cpp:[[#@LINE+19]]:3: warning:
// RUN: not %{check} %t/setup/csrc/y.cu | FileCheck %s --check-prefix=NVCC --implicit-check-not=': warning:'
// NVCC: y.cu:[[#@LINE+20]]:3: warning:
// RUN: not %{check} %t/cmake/src/z.cpp | FileCheck %s --check-prefix=CMAKE --implicit-check-not=': warning:'
// CMAKE: z.cpp:[[#@LINE+21]]:3: warning:

// A script that is no Python, or nothing at all.
// RUN: echo 'def ( [ "x' > %t/setup/setup.py
// RUN: %devsan_check --checks=device-raw-set-device --torch=none %t/setup/csrc/x.cpp -- -isystem %mock -isystem %cuda_stubs -I %t/setup/vendor

// What clang would not take as a macro is left out; compiler plugins are not loaded.
// RUN: echo 'Extension("x", ["csrc/x.cpp"], define_macros=[("", "1"), ("=", None), ("A B", "2"), "4"], extra_compile_args=["-D=", "-D3", "-fplugin=/none.so", "-Xclang", "-load", "-Xclang", "/none.so"])' > %t/setup/setup.py
// RUN: %devsan_check --checks=device-raw-set-device --torch=none --strict %t/setup/csrc/x.cpp -- -isystem %mock -isystem %cuda_stubs -I %t/setup/vendor
#include <c10/cuda/CUDAFunctions.h>
#include <torch/torch.h>
#include <vendor.h>

void choose(at::Tensor x) {
#if defined VENDOR && defined WITH_FEATURE && VALUE == 3 && defined FROM_CXX
  cudaSetDevice(x.get_device());
#endif
#if defined VENDOR && defined WITH_FEATURE && VALUE == 3 && defined FROM_NVCC && defined FROM_HOST && !defined FROM_CXX
  cudaSetDevice(x.get_device());
#endif
#if defined VENDOR && defined OF_TARGET && VALUE == 4 && !defined OF_WINDOWS_WIN32
  cudaSetDevice(x.get_device());
#endif
}
