// RUN: %check_mock | %file_check --allow-empty
#include <torch/extension.h>

// A program may say which device it uses.
int main() {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  at::Tensor x = torch::zeros({prop.multiProcessorCount});
}
