// A synchronisation that the program spells out is a note.
// RUN: %cxx_torch %s -o %t
// RUN: %status 0 %sim --report=%t.txt -- %t
// RUN: %file_check < %t.txt
#include <torch/torch.h>

int main() {
  const c10::Stream stream =
      c10::impl::VirtualGuardImpl(torch::kCUDA).getStream(torch::Device("cuda:1"));
  // CHECK-DAG: synchronize.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: note: the host waited for cuda:1 in cudaDeviceSynchronize, once [device-host-sync]
  torch::cuda::synchronize(1);
  // CHECK-DAG: synchronize.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: note: the host waited for cuda:1 in cudaStreamSynchronize, once [device-host-sync]
  stream.synchronize();
}
// CHECK-DAG: 2 findings
