// A kernel of the program's own, launched without a stream while another than the default one is current.
// RUN: %cxx_torch %s -o %t %cuda
// RUN: %status 3 %sim -- %t 2>&1 | %file_check
#include "declarations.h"
#include <torch/torch.h>

static const int kernel = 0;

int main() {
  auto x = torch::ones({4}, torch::Device("cuda:0"));
  void *data = x.data_ptr(), *arguments[] = {&data};
  const c10::impl::VirtualGuardImpl device(c10::kCUDA);
  // The default stream is current: nothing tells this launch from one that takes LibTorch's stream.
  cudaLaunchKernel(&kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr);
  device.exchangeStream(device.getStreamFromGlobalPool(x.device()));
  // CHECK: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: error: a kernel was launched on the legacy default stream of cuda:0 while stream {{[0-9]+}} is LibTorch's current one [device-wrong-stream]
  cudaLaunchKernel(&kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr);
}
// CHECK: 1 finding (1 error, 0 warnings, 0 notes)
