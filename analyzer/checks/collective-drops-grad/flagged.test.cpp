// RUN: not %check_mock | %file_check
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/torch.h>

#include <vector>

torch::Tensor combined(c10d::ProcessGroup &group, torch::Tensor x) {
  std::vector<std::vector<torch::Tensor>> outputs(1);
  for (int i = 0; i < group.getSize(); ++i)
    outputs[0].push_back(torch::zeros_like(x));
  std::vector<torch::Tensor> inputs{x};
  // CHECK: :[[@LINE+1]]:9: error: 'allgather' gathers tensors without their autograd graph, and they are used without the own slice among them: no gradient flows back; put the own tensor back at the own rank first [device-collective-drops-grad]
  group.allgather(outputs, inputs)->wait();
  // CHECK: :[[@LINE+1]]:10: note: combined here
  return torch::cat(outputs[0]);
}

// The list is handed to a caller that will combine it.
std::vector<torch::Tensor> handedOn(const c10::intrusive_ptr<c10d::ProcessGroup> &group, const torch::Tensor &x) {
  std::vector<torch::Tensor> slices;
  for (int i = 0; i < group->getSize(); ++i)
    slices.push_back(torch::empty_like(x));
  std::vector<std::vector<torch::Tensor>> outputs{slices};
  std::vector<torch::Tensor> inputs{x.contiguous()};
  // CHECK: :[[@LINE+1]]:10: error: 'allgather' gathers {{.*}} [device-collective-drops-grad]
  group->allgather(outputs, inputs)->wait();
  return slices;
}

// In a step: the state that is kept has lost the graph.
struct MeanMetric {
  void update(const torch::Tensor &value) {
    std::vector<std::vector<torch::Tensor>> outputs{{torch::empty_like(value), torch::empty_like(value)}};
    std::vector<torch::Tensor> inputs{value};
    // CHECK: error: 'allgather' gathers {{.*}} [device-collective-drops-grad]
    group->allgather(outputs, inputs)->wait();
    total = total + torch::stack(outputs[0]).sum();
  }
  torch::Tensor total;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
};
