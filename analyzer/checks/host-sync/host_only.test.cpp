// A CPU implementation: it reads tensors' memory and deals with no device.
// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

#define CHECK_CPU(x) TORCH_CHECK((x).device().is_cpu(), #x " must be a CPU tensor")

torch::Tensor cells(const torch::Tensor &positions, const torch::Tensor &box) {
  CHECK_CPU(positions);
  double sizes[3];
  for (int i = 0; i < 3; ++i)
    sizes[i] = box[i].item<double>();
  auto rows = positions.accessor<float, 2>();
  return positions.index({positions > sizes[0]});
}
