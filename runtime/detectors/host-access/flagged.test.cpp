// RUN: %cxx_torch %s -o %t
// RUN: %status 3 %sim -- %t 2>&1 | %file_check
#include <torch/torch.h>

float best(const torch::Tensor &scores) {
  // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: error: host code reads the memory of a tensor on cuda:1 (16 B), once [device-host-access]
  return static_cast<volatile float *>(scores.data_ptr())[1];
}

int main() {
  // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: note: moved to cuda:1 here
  const auto scores = torch::arange(4).to(torch::kFloat).to(torch::Device("cuda:1"));
  if (best(scores) != 1.0f)
    return 1;
  scores.add_(1);
  // CHECK-DAG: flagged.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: error: host code writes to the memory of a tensor on cuda:1 (16 B), once [device-host-access]
  static_cast<volatile float *>(scores.data_ptr())[0] = 5;
  return scores.sum().item<float>() == 14.0f ? 0 : 1;
}
// CHECK-DAG: 2 findings (2 errors
