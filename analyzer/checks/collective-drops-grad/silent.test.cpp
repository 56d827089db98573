// RUN: %check_mock | %file_check --allow-empty
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/torch.h>

#include <vector>

std::vector<torch::Tensor> emptyLike(const c10d::ProcessGroup &group, const torch::Tensor &x);

torch::Tensor putBack(c10d::ProcessGroup &group, torch::Tensor x) {
  std::vector<std::vector<torch::Tensor>> outputs{emptyLike(group, x)};
  std::vector<torch::Tensor> inputs{x};
  group.allgather(outputs, inputs)->wait();
  outputs[0][group.getRank()] = x;
  return torch::cat(outputs[0]);
}

torch::Tensor chosen(c10d::ProcessGroup &group, torch::Tensor x) {
  std::vector<std::vector<torch::Tensor>> outputs{emptyLike(group, x)};
  std::vector<torch::Tensor> inputs{x};
  group.allgather(outputs, inputs)->wait();
  std::vector<torch::Tensor> parts;
  for (int r = 0; r < group.getSize(); ++r)
    parts.push_back(r == group.getRank() ? x : outputs[0][r]);
  return torch::stack(parts);
}

torch::Tensor rebuilt(c10d::ProcessGroup &group, torch::Tensor x) {
  std::vector<std::vector<torch::Tensor>> outputs{emptyLike(group, x)};
  std::vector<torch::Tensor> inputs{x};
  group.allgather(outputs, inputs)->wait();
  std::vector<torch::Tensor> parts;
  for (int r = 0; r < group.getSize(); ++r) {
    if (r == group.getRank())
      parts.push_back(x);
    else
      parts.push_back(outputs[0][r]);
  }
  return torch::stack(parts);
}

// Autograd is off, or the data has no graph.
torch::Tensor noGrad(c10d::ProcessGroup &group, torch::Tensor x) {
  torch::NoGradGuard guard;
  std::vector<std::vector<torch::Tensor>> outputs{emptyLike(group, x)};
  std::vector<torch::Tensor> inputs{x};
  group.allgather(outputs, inputs)->wait();
  return torch::cat(outputs[0]);
}
torch::Tensor detached(c10d::ProcessGroup &group, torch::Tensor x) {
  std::vector<std::vector<torch::Tensor>> outputs{emptyLike(group, x)};
  std::vector<torch::Tensor> inputs{x.detach()};
  group.allgather(outputs, inputs)->wait();
  return torch::cat(outputs[0]);
}
torch::Tensor counts(c10d::ProcessGroup &group, const torch::Tensor &x) {
  auto count = torch::full({1}, x.size(0), x.options().dtype(torch::kLong));
  std::vector<std::vector<torch::Tensor>> outputs{emptyLike(group, count)};
  std::vector<torch::Tensor> inputs{count};
  group.allgather(outputs, inputs)->wait();
  return torch::cat(outputs[0]);
}

// Looked at, and left.
int64_t shapes(c10d::ProcessGroup &group, torch::Tensor x) {
  std::vector<std::vector<torch::Tensor>> outputs{emptyLike(group, x)};
  std::vector<torch::Tensor> inputs{x};
  group.allgather(outputs, inputs)->wait();
  return torch::cat(outputs[0]).size(0);
}
