// A header that is named, as commit hooks name them, means what a source that includes it makes of it: it is read through
// one, and nothing else is reported of that. A folder may hold headers alone.
// RUN: rm -rf %t && mkdir -p %t/.git %t/include/train %t/src %t/kernels %t/lone
// RUN: cp %s %t/src/main.cpp && echo 'int other() { return 1; }' > %t/src/other.cpp
// RUN: echo 'inline at::Tensor moved(at::Tensor x, at::Tensor y) { return x.cuda() + y; }' > %t/include/train/loop.h
// RUN: cp %t/include/train/loop.h %t/include/train/off.h
// DEFINE: %{check} = %devsan_check --torch=none --no-cache --checks=device-bare-cuda,device-missing-guard
// RUN: not %{check} %t/include/train/loop.h -- -isystem %mock | FileCheck %s --implicit-check-not='[device-'
// RUN: not %{check} %t/include/train -- -isystem %mock | FileCheck %s --check-prefixes=CHECK,OFF --implicit-check-not='[device-'
// CHECK: include/train/loop.h:1:{{.*}} warning: {{.*}} [device-bare-cuda]
// CHECK-NOT: parsed in part
// OFF: devsan check: failed because of 1 warning: 2 files: 1 finding
// The source says itself what it lacks, where it is the one that is looked at.
// RUN: not %{check} %t/src %t/include/train/loop.h -- -isystem %mock | FileCheck %s --check-prefix=BOTH --implicit-check-not='[device-'
// BOTH: include/train/loop.h:1:{{.*}} [device-bare-cuda]
// BOTH: src/main.cpp:[[#@LINE+13]]:{{.*}} [device-bare-cuda]
// What is not there for any source is read by itself: in CUDA where it launches.
// RUN: echo '#include <ATen/ATen.h>' > %t/kernels/k.h && echo '__global__ void scale(float *x) {}' >> %t/kernels/k.h
// RUN: echo 'inline void launch(at::Tensor x) { scale<<<1, 32>>>(x.data_ptr<float>()); }' >> %t/kernels/k.h && cp %t/kernels/k.h %t/lone/k.cuh
// RUN: not %{check} --strict %t/kernels -- -isystem %mock | FileCheck %s --check-prefix=KERNEL --implicit-check-not='[device-'
// RUN: not %{check} --strict %t/lone/k.cuh -- -isystem %mock | FileCheck %s --check-prefix=KERNEL --implicit-check-not='[device-'
// KERNEL: {{k.h|k.cuh}}:3:{{.*}} error: {{.*}} [device-missing-guard]
#include <torch/torch.h>

#include <train/loop.h>
#ifdef NEVER
#include <train/off.h>
#endif
at::Tensor here(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
