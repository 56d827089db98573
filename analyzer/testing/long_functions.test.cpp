// Functions that nobody wrote by hand take no more than moments, and the others are judged as ever. The bound is a busy machine's: they take some seconds.
// RUN: not %devsan_check --torch=none --timeout=120 %s -- -std=c++20 -isystem %mock -fbracket-depth=4000 | FileCheck %s
#include <torch/torch.h>

#define TEN(x) x x x x x x x x x x
#define THREE(x) x x x
#define THOUSAND(x) TEN(TEN(TEN(x)))

torch::Tensor statements(torch::Tensor x, const torch::Tensor &y) {
  THREE(THOUSAND(x = x + y;))
  return x;
}

torch::Tensor branches(torch::Tensor x, const torch::Tensor &y, int n) {
  THREE(THOUSAND(if (n--) x = x.cpu(); else x = x + y;))
  return x;
}

torch::Tensor variables(torch::Tensor x, int n) {
  THREE(THOUSAND({
    torch::Tensor y = x + 1;
    if (n--)
      x = y.cpu();
  }))
  return x;
}

torch::Tensor loops(torch::Tensor x, int n) {
  THOUSAND(while (n--) x = x.cuda();)
  return x;
}

torch::Tensor chosen(torch::Tensor x, int n) {
  switch (n) {
    THREE(THOUSAND(case __COUNTER__ : x = x + n; break;))
  }
  return x;
}

torch::Tensor nested(torch::Tensor x, int n) {
  TEN(TEN(TEN(if (n--)))) x = x.cpu();
  return x;
}

double reads(const torch::Tensor &x) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    // CHECK: 'x.sum().item<double>()' makes the host wait {{.*}} [device-host-sync]
    THOUSAND(sum += x.sum().item<double>();)
  }
  return sum;
}

torch::Tensor last(const torch::Tensor &x) {
  // CHECK: [[@LINE+1]]:{{.*}} 'torch::ones({2})' {{.*}} [device-missing-device]
  return torch::cat({x, torch::ones({2})});
}
