// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

void pushed(torch::Device device) {
  torch::nn::Sequential layers(torch::nn::Linear(8, 8));
  layers->to(device);
  layers->push_back(torch::nn::Linear(8, 2)); // NOLINT(device-module-replaced-after-to): the last layer runs on the host
}
