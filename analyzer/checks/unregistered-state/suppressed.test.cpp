// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) { return x; }
  torch::Tensor log_ = torch::zeros({3}); // NOLINT(device-unregistered-state): lives on the host on purpose
};
