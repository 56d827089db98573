// A function needs no guard where all of its callers set the device, in whatever files they are.
// DEFINE: %{check} = env XDG_CACHE_HOME=%t.cache %devsan_check --checks=device-missing-guard,device-index-lost --torch=none
// DEFINE: %{flags} = -I %t -isystem %mock -isystem %cuda_stubs
// DEFINE: %{names} = %python %t/names.py
// DEFINE: %{git} = git -C %t -c user.name=t -c user.email=t@example.org -c init.defaultBranch=main
// RUN: rm -rf %t %t.cache && split-file %s %t

// Who calls the functions of one file alone is not known. This one is no part of a project yet.
// RUN: not %{check} %t/launch.cu -- %{flags} | %{names} | FileCheck %s --check-prefix=ALONE
// ALONE: bound chained from_bare from_header from_table in_thread of_two_bodies overload_int overload_tensor ping pong stream virtual_too whole

// RUN: not %{check} %t/launch.cu %t/callers.cpp -- %{flags} | %{names} | FileCheck %s --check-prefix=GUARDED
// GUARDED: bound in_thread overload_int ping pong virtual_too{{$}}

// One caller without a guard, one address that is taken, one more body.
// RUN: not %{check} %t/launch.cu %t/callers.cpp %t/more.cpp %t/twice.cu -- %{flags} | %{names} | FileCheck %s --check-prefix=MORE
// MORE: bound from_bare from_table in_thread of_two_bodies of_two_bodies overload_int ping pong virtual_too{{$}}

// The same from the cache.
// RUN: not %{check} %t/launch.cu %t/callers.cpp -- %{flags} | %{names} | FileCheck %s --check-prefix=GUARDED

// What is found does not depend on the part that is looked at.
// RUN: not %{check} %t -- %{flags} | %{names} > %t/whole && FileCheck %s --check-prefix=MORE < %t/whole
// RUN: %{check} %t --shard=1/3 -- %{flags} > %t/parts || true
// RUN: %{check} %t --shard=2/3 -- %{flags} >> %t/parts || true
// RUN: %{check} %t --shard=3/3 -- %{flags} >> %t/parts || true
// RUN: %{names} < %t/parts | diff %t/whole -
// RUN: %{git} init -q && %{git} add . && %{git} commit -q -m one && echo '// changed' >> %t/launch.cu
// RUN: %python -c "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write(t.replace('data_ptr<float>()', 'data_ptr<float>( )'))" %t/launch.cu
// RUN: not %{check} --diff=HEAD %t -- %{flags} | FileCheck %s --check-prefix=DIFF
// DIFF: 1 file of 4, changes since HEAD: 9 findings
// RUN: rm -rf %t.cache
// RUN: not %{check} --diff=HEAD --no-cache %t -- %{flags} | %{names} | FileCheck %s --check-prefix=CHANGED
// CHANGED: bound from_bare from_table in_thread of_two_bodies overload_int ping pong virtual_too{{$}}
// RUN: not %{check} %t/launch.cu -- %{flags} | %{names} | FileCheck %s --check-prefix=CHANGED
// RUN: not %{check} --alone %t/launch.cu -- %{flags} | %{names} | FileCheck %s --check-prefix=ALONE
// Nor do callers that guard hide those that were left out.
// RUN: echo '// changed' >> %t/callers.cpp
// RUN: not %{check} --diff=HEAD %t -- %{flags} | %{names} | FileCheck %s --check-prefix=CHANGED

//--- names.py
import re, sys
# Each function's tensor has its name.
report = sys.stdin.read()
print(*sorted(re.findall(r"(?:error|warning): .*'(\w+)': no guard is live", report)), *re.findall("parsed in part.*", report))

//--- ops.h
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

void library(float *x, int64_t n, cudaStream_t stream);
void launchWhole(at::Tensor whole);
void launchThrough(at::Tensor x);
void launchOverload(at::Tensor overload_tensor);
void launchOverload(at::Tensor overload_int, int n);
void launchFromBare(at::Tensor from_bare);
void launchFromTable(at::Tensor from_table);
void launchFromHeader(at::Tensor from_header);
void launchTwoBodies(at::Tensor of_two_bodies);
void launchInThread(at::Tensor in_thread);
void launchStream(at::Tensor stream);
void launchPing(at::Tensor ping, int n);
void launchPong(at::Tensor pong, int n);
void launchBound(at::Tensor bound);
struct Op {
  virtual void launch(at::Tensor virtual_too);
};
inline void wrapped(at::Tensor x) { launchFromHeader(x); }

//--- launch.cu
#include "ops.h"
#include <thread>

__global__ void scale(float *x) {}

void launchWhole(at::Tensor whole) { scale<<<1, 32>>>(whole.data_ptr<float>()); }
static void inner(at::Tensor chained) { scale<<<1, 32>>>(chained.data_ptr<float>()); }
void launchThrough(at::Tensor x) { inner(x); }
void launchOverload(at::Tensor overload_tensor) { scale<<<1, 32>>>(overload_tensor.data_ptr<float>()); }
void launchOverload(at::Tensor overload_int, int n) { scale<<<n, 32>>>(overload_int.data_ptr<float>()); }
void launchFromBare(at::Tensor from_bare) { scale<<<1, 32>>>(from_bare.data_ptr<float>()); }
void launchFromTable(at::Tensor from_table) { scale<<<1, 32>>>(from_table.data_ptr<float>()); }
void launchFromHeader(at::Tensor from_header) { scale<<<1, 32>>>(from_header.data_ptr<float>()); }
void launchTwoBodies(at::Tensor of_two_bodies) { scale<<<1, 32>>>(of_two_bodies.data_ptr<float>()); }
void launchInThread(at::Tensor in_thread) {
  std::thread([&] { scale<<<1, 32>>>(in_thread.data_ptr<float>()); }).join();
}
void launchStream(at::Tensor stream) {
  library(stream.data_ptr<float>(), stream.numel(), at::cuda::getCurrentCUDAStream());
}
void launchPing(at::Tensor ping, int n) {
  scale<<<1, 32>>>(ping.data_ptr<float>());
  if (n)
    launchPong(ping, n - 1);
}
void launchPong(at::Tensor pong, int n) {
  scale<<<1, 32>>>(pong.data_ptr<float>());
  if (n)
    launchPing(pong, n - 1);
}
void launchBound(at::Tensor bound) { scale<<<1, 32>>>(bound.data_ptr<float>()); }
void Op::launch(at::Tensor virtual_too) { scale<<<1, 32>>>(virtual_too.data_ptr<float>()); }

//--- callers.cpp
#include "ops.h"

at::Tensor forward(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  launchWhole(x);
  launchThrough(x);
  launchOverload(x);
  launchFromBare(x);
  launchFromTable(x);
  launchTwoBodies(x);
  launchInThread(x);
  launchStream(x);
  launchBound(x);
  wrapped(x);
  Op().launch(x);
  return x;
}

void expose(const char *name, void (*function)(at::Tensor));
void initialise() { expose("bound", &launchBound); }

//--- more.cpp
#include "ops.h"

at::Tensor bare(at::Tensor x) {
  launchFromBare(x);
  return x;
}

static void (*const table[])(at::Tensor) = {launchFromTable};

//--- twice.cu
#include "ops.h"

__global__ void scale(float *x) {}

void launchTwoBodies(at::Tensor of_two_bodies) { scale<<<1, 64>>>(of_two_bodies.data_ptr<float>()); }
