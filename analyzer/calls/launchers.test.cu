// A call that gives memory of tensors to a function of another file needs a guard where that function launches a kernel.
// DEFINE: %{check} = env XDG_CACHE_HOME=%t.cache %devsan_check --checks=device-missing-guard --torch=none
// DEFINE: %{flags} = -I %t -isystem %mock -isystem %cuda_stubs
// DEFINE: %{git} = git -C %t -c user.name=t -c user.email=t@example.org -c init.defaultBranch=main
// RUN: rm -rf %t %t.cache && split-file %s %t

// What is not looked at is not supposed to launch.
// RUN: %{check} %t/ops.cpp -- %{flags} | FileCheck %s --check-prefix=ALONE
// ALONE: 1 file: no findings

// RUN: not %{check} %t -- %{flags} | FileCheck %s --check-prefix=ALL --implicit-check-not=': error:'
// ALL: ops.cpp:5:3: error: the kernel runs on the current device, which need not be that of 'direct': no guard is live here [device-missing-guard]
// ALL: kernels.cu:5:{{[0-9]+}}: note: launched here
// ALL: ops.cpp:9:3: error: {{.*}} 'through'
// ALL: kernels.cu:5:{{[0-9]+}}: note: launched here
// ALL: 4 files: 2 findings {{.*}}, 1 suppressed

// What is found does not depend on the part that is looked at.
// RUN: %{check} %t --shard=1/3 -- %{flags} > %t.parts || true
// RUN: %{check} %t --shard=2/3 -- %{flags} >> %t.parts || true
// RUN: %{check} %t --shard=3/3 -- %{flags} >> %t.parts || true
// RUN: FileCheck %s --check-prefix=PARTS --implicit-check-not=': error:' < %t.parts
// PARTS: ops.cpp:5:3: error:
// PARTS: kernels.cu:5:{{[0-9]+}}: note: launched here
// PARTS: ops.cpp:9:3: error:
// RUN: %{git} init -q && %{git} add . && %{git} commit -q -m one && %python -c "import sys; open(sys.argv[1], 'a').write('// changed')" %t/ops.cpp
// RUN: %python -c "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write(t.replace('(through.', '( through.'))" %t/ops.cpp
// RUN: not %{check} --diff=HEAD %t -- %{flags} | FileCheck %s --check-prefix=DIFF --implicit-check-not=': error:'
// DIFF: ops.cpp:9:3: error:
// DIFF: 1 file of 4, changes since HEAD: 1 finding

// A file by itself is part of its project, unless that is excluded.
// RUN: not %{check} %t/ops.cpp -- %{flags} | FileCheck %s --check-prefix=PROJECT
// PROJECT: 1 file: 2 findings {{.*}}, 1 suppressed
// RUN: %{check} --alone %t/ops.cpp -- %{flags} | FileCheck %s --check-prefix=ALONE
// RUN: echo '[check]' > %t/.devsan.toml && echo 'exclude = ["*.cu"]' >> %t/.devsan.toml
// RUN: %{check} %t/ops.cpp -- %{flags} | FileCheck %s --check-prefix=ALONE
// RUN: rm %t/.devsan.toml

// RUN: not %{check} --fix %t -- %{flags} > /dev/null 2>&1 || FileCheck %s --check-prefix=FIXED --input-file=%t/ops.cpp
// FIXED: void callDirect
// FIXED-NEXT: const c10::cuda::CUDAGuard device_guard(direct.device());
// RUN: %{check} %t -- %{flags} | FileCheck %s --check-prefix=MENDED
// MENDED: 4 files: no findings, 1 suppressed

//--- kernels.h
#include <cstdint>

void launchKernel(float *x, int64_t n);
void launchBehind(float *x, int64_t n);
void launchUnderGuard(float *x, int64_t n, int device);
void launchTwice(float *x);
void computeOnHost(float *x, int64_t n);

//--- kernels.cu
#include "kernels.h"
#include <cuda_runtime.h>

__global__ void scale(float *x, int64_t n) {}
void launchKernel(float *x, int64_t n) { scale<<<1, 32>>>(x, n); }
void launchUnderGuard(float *x, int64_t n, int device) {
  cudaSetDevice(device);
  scale<<<1, 32>>>(x, n);
}
void launchTwice(float *x) { scale<<<1, 32>>>(x, 1); }

//--- behind.cpp
#include "kernels.h"

void launchBehind(float *x, int64_t n) { launchKernel(x, n); }
void computeOnHost(float *x, int64_t n) { x[n] = 0; }

//--- twice.cu
#include "kernels.h"
#include <cuda_runtime.h>

__global__ void scale(float *x) {}
void launchTwice(float *x) { scale<<<2, 32>>>(x); }

//--- ops.cpp
#include "kernels.h"
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>
void callDirect(at::Tensor direct) {
  launchKernel(direct.data_ptr<float>(), direct.numel());
}

void callThrough(at::Tensor through) {
  launchBehind(through.data_ptr<float>(), through.numel());
}

void callGuarded(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  launchKernel(x.data_ptr<float>(), x.numel());
}

void callSuppressed(at::Tensor x) {
  launchKernel(x.data_ptr<float>(), x.numel()); // NOLINT(device-missing-guard): one GPU
}

void callSilent(at::Tensor x) {
  launchUnderGuard(x.data_ptr<float>(), x.numel(), x.get_device());
  launchTwice(x.data_ptr<float>());
  computeOnHost(x.data_ptr<float>(), x.numel());
}

static void inner(at::Tensor x) { launchKernel(x.data_ptr<float>(), x.numel()); }
void outer(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  inner(x);
}
