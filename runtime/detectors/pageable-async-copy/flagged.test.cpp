// RUN: %cxx_torch %s -o %t
// RUN: %status 0 %sim -- %t 2>&1 | %file_check
#include <torch/torch.h>

int main() {
  const torch::Device device("cuda:1");
  for (int i = 0; i < 3; ++i) {
    auto batch = torch::ones({1 << 15});
    // CHECK: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: non_blocking=true from pageable memory: the host waited for cuda:1 to take 131.1 KB in aten::to, 3 times (393.2 KB) [device-pageable-async-copy]
    batch.to(device, /*non_blocking=*/true);
  }
}
// CHECK: 1 finding (0 errors, 1 warning, 0 notes)
