// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

torch::Tensor firstGpu(torch::Tensor x, torch::Tensor weight) {
  return x.to(torch::Device("cuda:0")) * weight; // NOLINT(device-bare-cuda): one process per GPU
}
