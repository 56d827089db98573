// Calls of CUDA that are no operators, as compiled extensions make them.
// RUN: %cxx_torch %s -o %t %cuda
// RUN: env DEVSAN_STANDIN_KERNEL_US=2000 %status 0 %devsan run --report=%t.txt -- %t
// RUN: %file_check < %t.txt
#include "declarations.h"
#include <torch/torch.h>
#include <vector>

static const int kernel = 0;

int main() {
  void *stream = nullptr, *memory = nullptr;
  cudaSetDevice(1);
  cudaStreamCreate(&stream);
  cudaMalloc(&memory, 4096);
  void *arguments[] = {&memory};
  std::vector<float> pageable(1024);
  for (int i = 0; i < 5; ++i) {
    cudaLaunchKernel(&kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream);
    // CHECK-DAG: extension.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: the host waited for cuda:1 in cudaStreamSynchronize, 5 times ({{.*}} ms) [device-host-sync]
    cudaStreamSynchronize(stream);
  }
  for (int i = 0; i < 4; ++i)
    // CHECK-DAG: extension.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: the host waited for cuda:1 in cudaMemcpy, 4 times (16.4 KB cuda:1 → cpu, {{.*}}) [device-host-sync]
    cudaMemcpy(pageable.data(), memory, 4096, 2);
  for (int i = 0; i < 3; ++i) {
    cudaLaunchKernel(&kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream);
    // CHECK-DAG: extension.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: the host waited for cuda:1 in cudaStreamQuery, 3 times ({{.*}}) [device-host-sync]
    while (cudaStreamQuery(stream) == 600) {
    }
  }
  // Stays on the device, and on a stream: nobody waits.
  cudaMemsetAsync(memory, 0, 4096, stream);
  cudaMemcpyAsync(memory, static_cast<char *>(memory) + 2048, 2048, 3, stream);
  // CHECK-DAG: extension.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: note: the host waited for cuda:1 in cudaFree, once ({{.*}}) [device-host-sync]
  cudaFree(memory);
  cudaFree(nullptr);
}
// CHECK-DAG: 4 findings
