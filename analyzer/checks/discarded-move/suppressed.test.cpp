// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

void measured(const torch::Tensor &x, torch::Device device) {
  x.to(device); // NOLINT(device-discarded-move): how long the copy takes
}
