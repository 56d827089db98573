// What a folder may hold besides sources: pipes are not read, links count as the file they lead to.
// DEFINE: %{check} = %devsan_check --no-cache --torch=none --checks=device-raw-set-device
// DEFINE: %{flags} = -- -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t && mkdir -p %t/walk/inner && cp %s %t/walk/base.cpp && chmod 755 %t/walk/base.cpp
// RUN: %python -c "import os, sys; os.mkfifo(sys.argv[1] + '/pipe.cpp'); os.mkfifo(sys.argv[1] + '/pipe.h')" %t/walk
// RUN: ln -s base.cpp %t/walk/a_link.cpp && ln -s ../base.cpp %t/walk/inner/link.cpp && ln -s .. %t/walk/inner/loop
// RUN: not %{check} %t/walk %{flags} | FileCheck %s
// CHECK: walk/base.cpp:[[#@LINE+21]]:3: warning:
// CHECK-NOT: warning:
// CHECK: devsan check: {{.*}}: 1 file: 1 finding

// A fix by way of a link changes the file that it leads to, which keeps its mode.
// RUN: %{check} --fix %t/walk/a_link.cpp %{flags}
// RUN: grep CUDAGuard %t/walk/base.cpp && test -L %t/walk/a_link.cpp && test -x %t/walk/base.cpp

// No compiler reads UTF-16.
// RUN: %python -c "import sys; open(sys.argv[1], 'wb').write('int x;'.encode('utf-16'))" %t/wide.cpp
// RUN: cp %s %t/narrow.cpp && not %{check} %t/wide.cpp %t/narrow.cpp %{flags} 2>&1 | FileCheck %s --check-prefix=WIDE
// WIDE: narrow.cpp:[[#@LINE+10]]:3: warning:
// WIDE: wide.cpp: not analysed, it is in UTF-16 (LE), not in UTF-8
// WIDE: devsan check: error: 1 of 2 files not analysed; the report names them
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

void launch();

void choose(at::Tensor x) {
  cudaSetDevice(x.get_device());
  launch();
}
