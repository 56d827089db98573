// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

float managed() {
  auto x = torch::zeros({4}, torch::kCUDA);
  return x.data_ptr<float>()[0]; // NOLINT(device-host-access): managed memory
}
