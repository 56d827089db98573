// Where a header is missing, what takes numbers alone gives a device no work, as far as is seen.
// RUN: not %devsan_check --torch=none %s -- -std=c++17 -isystem %mock | FileCheck %s --implicit-check-not='[device-'
#include <torch/torch.h>

struct Logged {
  Logger logger;
  void train(torch::Tensor a);
};
void Logged::train(torch::Tensor a) {
  a = a.cuda();
  for (int i = 0; i < 3; ++i) {
    torch::Tensor x = a * i, y = x + 1, z = y + 1, u = z + 1;
    // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: 'x.item<float>()' {{.*}} [device-host-sync]
    // CHECK: :[[@LINE+2]]:{{[0-9]+}}: note: read here as well
    logger.add("a", i, x.item<float>());
    logger.add("b", i, y.item<float>());
    unknown.step(y);
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'z.item<float>()' {{.*}} [device-host-sync]
    logger.add("c", i, z.item<float>());
    unknown.step();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'u.item<float>()' {{.*}} [device-host-sync]
    logger.add("d", i, u.item<float>());
  }
}
