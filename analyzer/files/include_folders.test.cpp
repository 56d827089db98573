// Without a compile_commands.json a project's headers are found where the spelling of the includes says: above folders
// of any name, beside the package that is built, in third-party folders; the nearest where several fit.
// RUN: rm -rf %t && mkdir -p %t/.git %t/python/csrc %t/code/lib/part %t/other/lib/part %t/third_party/dep/dep
// RUN: touch %t/python/setup.py
// RUN: cp %s %t/python/csrc/x.cpp
// RUN: echo '#include "lib/part/inner.h"' > %t/code/lib/outer.h
// RUN: echo '#define INNER 1' > %t/code/lib/part/inner.h
// RUN: echo '#define INNER 2' > %t/other/lib/part/inner.h
// RUN: echo '#define DEPENDENCY' > %t/third_party/dep/dep/dep.hpp
// RUN: echo '#error not the header of libc' > %t/python/csrc/semaphore.h
// RUN: mkdir -p %t/python/tools/include && echo 'typedef int uintptr_t;' > %t/python/tools/include/stdint.h && echo '#define OWN_SIGNAL' > %t/python/tools/include/signal.h
// RUN: not %devsan_check --torch=none --checks=device-raw-set-device --strict %t/python -- -isystem %mock -isystem %cuda_stubs | FileCheck %s
// RUN: mkdir -p %t/build/some && echo "#define STALE" > %t/build/some/stale.h
// RUN: not %devsan_check --torch=none --checks=device-raw-set-device %t/python -- -isystem %mock -isystem %cuda_stubs -DSTALE_WANTED | FileCheck %s --check-prefix=STALE
// RUN: mkdir -p %t/angled/.git %t/angled/include && cp %t/python/tools/include/signal.h %t/angled/include
// RUN: echo '#include <signal.h>' > %t/angled/y.cpp && echo '#include <torch/torch.h>' >> %t/angled/y.cpp && echo '#ifndef OWN_SIGNAL' >> %t/angled/y.cpp
// RUN: echo 'void choose(at::Tensor x) { cudaSetDevice(x.get_device()); }' >> %t/angled/y.cpp && echo '#endif' >> %t/angled/y.cpp
// RUN: not %devsan_check --torch=none --checks=device-raw-set-device --strict %t/angled -- -isystem %mock -isystem %cuda_stubs -include c10/cuda/CUDAFunctions.h | FileCheck %s --check-prefix=ANGLED
// ANGLED: y.cpp:4:{{.*}} [device-raw-set-device]
// CHECK: x.cpp:[[#@LINE+16]]:3: warning: {{.*}}[device-raw-set-device]
// CHECK-NOT: parsed in part
// STALE: not found: some/stale.h
#include <torch/torch.h>
#include <c10/cuda/CUDAFunctions.h>
#include "lib/outer.h"
#include <dep/dep.hpp>
#include <cstdint>
#include <semaphore.h>
#include "signal.h"
#ifdef STALE_WANTED
#include "some/stale.h"
#endif
#if INNER == 1 && defined(DEPENDENCY) && defined(OWN_SIGNAL)
void choose(at::Tensor x) {

  cudaSetDevice(x.get_device());
}
#endif
