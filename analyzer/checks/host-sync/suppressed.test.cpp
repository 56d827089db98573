// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    int64_t longest = x.max().item<int64_t>(); // NOLINT(device-host-sync): the shape depends on it
    return x + longest;
  }
};
