// Names that are unknown although all headers are there, such as those of another release of a library, have stand-ins from the
// first error on.
// RUN: not %check_mock --checks=device-host-sync | %file_check
#include <torch/torch.h>

removed::Type declared;

double loop(torch::Tensor y) {
  double total = 0;
  for (auto &batch : *removed::loader())
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.sum().item<double>()' {{.*}} [device-host-sync]
    total += y.sum().item<double>();
  return total;
}
