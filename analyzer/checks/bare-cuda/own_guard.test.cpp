// Guards as device-missing-guard knows them. What device-discarded-move or device-index-lost says is not said twice.
// RUN: %check_mock | %file_check --allow-empty
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

#include <memory>
#include <optional>

class Context {
public:
  explicit Context(const torch::Tensor &t) : guard_(t.device()) {}
  torch::Tensor scratch(const torch::Tensor &x) { return x + torch::zeros({3}, torch::kCUDA); }

private:
  c10::cuda::CUDAGuard guard_;
};

torch::Tensor ownGuard(const torch::Tensor &x) {
  Context context(x);
  return x + torch::zeros({3}, torch::kCUDA);
}

torch::Tensor onHeap(const torch::Tensor &x) {
  auto guard = std::make_unique<c10::cuda::CUDAGuard>(x.device());
  return x + torch::zeros({3}, torch::kCUDA);
}

torch::Tensor setLater(const torch::Tensor &x) {
  std::optional<c10::cuda::CUDAGuard> guard;
  if (x.is_cuda())
    guard.emplace(x.device());
  return x + torch::zeros({3}, torch::kCUDA);
}

torch::Tensor kindOnly(const torch::Tensor &x) {
  return x + torch::zeros({3}, x.is_cuda() ? torch::kCUDA : torch::kCPU);
}

void discarded(torch::Tensor x, const torch::Tensor &y) { x.cuda(); }
