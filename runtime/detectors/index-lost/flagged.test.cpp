// RUN: %cxx_torch %s -o %t
// RUN: %status 3 %sim -- %t 2>&1 | %file_check
#include <torch/torch.h>

int main() {
  auto x = torch::ones({4}, torch::Device("cuda:1"));
  // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: note: made on cuda:0 here
  auto y = torch::ones({4}, x.options().device(x.device().type()));
  try {
    // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: error: a tensor (other: float32 [4]) was made on the current device, cuda:0, by a call that gives no index, and the others are on cuda:1: aten::add refused once [device-index-lost]
    x.add(y);
  } catch (const c10::Error &) {
  }
}
// CHECK: 1 finding (1 error, 0 warnings, 0 notes)
