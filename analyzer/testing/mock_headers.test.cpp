// The mock headers parse, and no rule finds anything in code that does not move a tensor.
// RUN: %check_mock | %file_check --allow-empty
#include <torch/script.h>
#include <torch/extension.h>
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

struct NetImpl : torch::nn::Module {
  NetImpl() : fc(register_module("fc", torch::nn::Linear(4, 2))) {}
  torch::Tensor forward(torch::Tensor x) { return torch::relu(fc->forward(x)); }
  torch::nn::Linear fc;
};
TORCH_MODULE(Net);

torch::Tensor twice(const torch::Tensor &x) {
  Net net;
  net->to(x.device());
  torch::nn::Sequential stack(torch::nn::Linear(4, 4), torch::nn::ReLU());
  const c10::cuda::CUDAGuard guard(x.device());
  auto zeros = torch::zeros({2, 3}, torch::TensorOptions().dtype(torch::kFloat).device(x.device()));
  auto empty = at::empty({2}, x.options());
  return net->forward(x) + net(x) + zeros.sum() + empty;
}
