// RUN: %cxx_torch %s -o %t
// RUN: %status 0 %sim -- %t 2>&1 | %file_check
#include <torch/torch.h>

int main() {
  const auto x = torch::ones({4}, torch::Device("cuda:1"));
  const auto host = x.cpu();
  // CHECK-DAG: flagged.test.cpp:[[#@LINE+2]]:{{[0-9]+}}: warning: a tensor whose data came from cuda:1 was moved to cuda:0 in aten::to, once (16 B) [device-bare-cuda]
  // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: data of cuda:1 went to the host, and 16 B of it, or made from it, came back to cuda:0 in aten::to, once (16 B) [device-cpu-round-trip]
  host.cumsum(0).cuda();
  // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: a tensor on cuda:1 was moved to the current device, cuda:0, in aten::to, once (16 B) [device-bare-cuda]
  x.cuda();
}
// CHECK-DAG: 3 findings
