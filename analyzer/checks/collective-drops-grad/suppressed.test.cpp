// RUN: %check_mock | %file_check --allow-empty
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/torch.h>

#include <vector>

torch::Tensor evaluated(c10d::ProcessGroup &group, torch::Tensor x) {
  std::vector<std::vector<torch::Tensor>> outputs{{torch::empty_like(x), torch::empty_like(x)}};
  std::vector<torch::Tensor> inputs{x};
  group.allgather(outputs, inputs)->wait(); // NOLINT(device-collective-drops-grad): evaluation only
  return torch::cat(outputs[0]);
}
