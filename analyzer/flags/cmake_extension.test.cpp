// A setup.py whose extension only starts CMake leaves the flags to the CMakeLists.txt files.
// DEFINE: %{check} = %devsan_check --checks=device-raw-set-device --torch=none --strict
// RUN: rm -rf %t && mkdir -p %t/.git %t/csrc && cp %s %t/csrc/x.cpp
// RUN: echo 'add_definitions(-DOF_CMAKE -DEXAMPLE_WINDOWS)' > %t/CMakeLists.txt
// RUN: echo 'include_directories(%mock)' >> %t/CMakeLists.txt
// RUN: echo 'setup(ext_modules=[CMakeExtension("example")], cmdclass={"build_ext": BuildExtension})' > %t/setup.py
// RUN: not %{check} %t/csrc/x.cpp | FileCheck %s --implicit-check-not=': warning:'
// CHECK: x.cpp:[[#@LINE+10]]:3: warning:

// One with flags of its own knows better.
// RUN: echo 'setup(ext_modules=[CppExtension("example", sources(), include_dirs=["%mock"], define_macros=[("OF_SETUP", None)])])' > %t/setup.py
// RUN: %{check} %t/csrc/x.cpp
#include <torch/torch.h>
#include <c10/cuda/CUDAFunctions.h>

#if defined OF_CMAKE && !defined EXAMPLE_WINDOWS
void choose(at::Tensor x) {
  cudaSetDevice(x.get_device());
}
#endif
