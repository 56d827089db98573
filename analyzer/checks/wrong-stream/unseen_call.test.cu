// What calls a lambda can be lost with a macro that is not found.
// RUN: not %devsan_check --checks=device-wrong-stream,device-missing-guard --torch=none %s --format=text -- -std=c++20 -isystem %mock -isystem %cuda_stubs | FileCheck %s
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <not/found.h>
#include <torch/extension.h>

template <typename Kernel> __global__ void run(typename Kernel::Params params) {}

at::Tensor forward(const at::Tensor &x) {
  c10::cuda::CUDAGuard guard(x.device());
  at::Tensor result = at::empty_like(x);
  auto launch = [&](auto kernel, int capability) {
    using Kernel = decltype(kernel);
    typename Kernel::Params params;
    params.result = result.data_ptr<float>();
    run<Kernel><<<1, 32>>>(params);
  };
  NOT_FOUND_DISPATCH(x, ([&]() { launch(Kernel{}, 80); }));
  return result;
}
// CHECK-NOT: .cu:{{.*}}error:
// CHECK: unseen_call.test.cu:[[# @LINE - 6]]:{{.*}}: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
// CHECK-NOT: .cu:{{.*}}error:
