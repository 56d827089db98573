// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

// May be pinned, by who made it.
at::Tensor given(const at::Tensor &host, const at::Tensor &x) {
  return host.to(x.device(), torch::kFloat, /*non_blocking=*/true);
}

at::Tensor pinned(const at::Tensor &x) {
  auto host = torch::zeros({4}).pin_memory();
  return host.to(x.device(), torch::kFloat, /*non_blocking=*/true);
}

// The memory behind a pointer may be pinned.
at::Tensor blob(const at::Tensor &x, float *data) {
  return torch::from_blob(data, {4}).to(x.device(), torch::kFloat, /*non_blocking=*/true);
}

// Blocks, and says so.
at::Tensor blocking(const at::Tensor &x) { return torch::zeros({4}).to(x.device()); }

// LibTorch makes the result in pinned memory.
at::Tensor toHost(const at::Tensor &x) {
  return x.to(torch::kCPU, torch::kFloat, /*non_blocking=*/true);
}
