// RUN: %cxx_torch %s -o %t
// RUN: %status 0 %sim -- %t 2>&1 | %file_check
#include <torch/torch.h>

// What LibTorch looks through for each allocation may not grow with backwards in backwards.
using Info = c10::ThreadLocalDebugInfo;
std::shared_ptr<Info> Info::*parent();
template <auto member> struct Parent {
  friend std::shared_ptr<Info> Info::*parent() { return member; }
};
template struct Parent<&Info::parent_info_>;

int lengthInside(int backwards) {
  int length = 0;
  const at::AutoGradMode with_grad(true);
  const auto x = torch::ones({4}, torch::TensorOptions("cuda:1").requires_grad(true));
  const auto y = x * 2;
  y.register_hook([&](const at::Tensor &) {
    if (backwards > 1)
      length = lengthInside(backwards - 1);
    else
      for (auto info = Info::current(); info; info = (*info).*parent())
        ++length;
  });
  y.sum().backward();
  return length;
}

int main() {
  if (lengthInside(1) < 1 || lengthInside(1) != lengthInside(20))
    return 1;
  const auto x = torch::ones({4}, torch::TensorOptions("cuda:1").requires_grad(true));
  const auto loss = torch::prod(x * 2);
  // CHECK-DAG: backward.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: the host waited for cuda:1 in aten::nonzero (backward: ProdBackward0), once [device-host-sync]
  loss.backward();
  // CHECK-DAG: backward.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: the host waited for cuda:1 in aten::nonzero (backward: ProdBackward0), once [device-host-sync]
  torch::autograd::grad({torch::prod(x * 2)}, {x});
}
// CHECK-DAG: 2 findings
