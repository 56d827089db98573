// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

torch::Tensor deterministicCumsum(const torch::Tensor &x) {
  return x.cpu().cumsum(0).to(x.device()); // NOLINT(device-cpu-round-trip): no deterministic kernel on the device
}

torch::Tensor nextLine(const torch::Tensor &x) {
  // NOLINTNEXTLINE(device-cpu-round-trip)
  return x.cpu().cumsum(0).to(x.device());
}
