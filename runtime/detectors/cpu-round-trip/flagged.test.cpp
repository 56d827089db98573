// RUN: %cxx_torch %s -o %t
// RUN: %status 0 %sim -- %t 2>&1 | %file_check
#include <torch/torch.h>

static torch::Tensor onTheHost(const torch::Tensor &x) {
  const auto host = x.cpu();
  // CHECK-DAG: flagged.test.cpp:[[#@LINE+2]]:{{[0-9]+}}: warning: data of cuda:1 went to the host, and 16 B of it, or made from it, came back to cuda:1 in aten::to, 3 times (48 B) [device-cpu-round-trip]
  // CHECK-DAG: flagged.test.cpp:[[#@LINE-2]]:{{[0-9]+}}: note: left cuda:1 here
  return host.cumsum(0).to(x.device());
}

int main() {
  auto x = torch::ones({4}, torch::Device("cuda:1"));
  for (int step = 0; step < 3; ++step)
    // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: note: called from main
    x = onTheHost(x);
}
// CHECK: 1 finding
