// RUN: %cxx_torch %s -o %t
// RUN: %status 0 %sim -- %t 2>&1 | %file_check
// RUN: %status 3 %sim --fail-on=device-host-sync -- %t
// RUN: %status 3 %sim --fail-on=warning -- %t
// RUN: %status 3 %sim --max=device-host-sync=6 -- %t
// RUN: %status 0 %sim --fail-on=warning --max=device-host-sync=7 -- %t
// RUN: %status 0 %sim --fail-on=none -- %t
#include <torch/torch.h>

int main() {
  const auto x = torch::ones({4}, torch::Device("cuda:1"));

  float sum = 0;
  for (int step = 0; step < 3; ++step)
    // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: the host waited for cuda:1 in aten::item, 3 times [device-host-sync]
    sum += x.sum().item<float>();

  // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: the host waited for cuda:1 in aten::nonzero, once [device-host-sync]
  const auto where = x.nonzero();

  for (int step = 0; step < 3; ++step)
    // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: the host waited for cuda:1 to take 4 B from pageable memory in aten::to, 3 times (12 B cpu → cuda:1) [device-host-sync]
    torch::full({}, sum).to(x.device());
}
// CHECK-DAG: 3 findings (0 errors, 3 warnings, 0 notes)
