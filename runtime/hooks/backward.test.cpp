// RUN: %cxx_torch %s -o %t
// RUN: %status 0 %sim -- %t 2>&1 | %file_check
#include <torch/torch.h>

int main() {
  const auto x = torch::ones({4}, torch::TensorOptions("cuda:1").requires_grad(true));
  const auto loss = torch::prod(x * 2);
  // CHECK-DAG: backward.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: the host waited for cuda:1 in aten::nonzero (backward: ProdBackward0), once [device-host-sync]
  loss.backward();
  // CHECK-DAG: backward.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: the host waited for cuda:1 in aten::nonzero (backward: ProdBackward0), once [device-host-sync]
  torch::autograd::grad({torch::prod(x * 2)}, {x});
}
// CHECK-DAG: 2 findings
