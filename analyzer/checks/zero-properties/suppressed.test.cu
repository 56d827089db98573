// RUN: %check_mock | %file_check --allow-empty
#include <torch/extension.h>

void properties(at::Tensor x) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0); // NOLINT(device-zero-properties): all are equal
}
