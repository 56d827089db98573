// The model reads the real LibTorch headers as it reads the mock ones.
// RUN: not %check_torch | %file_check
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/script.h>
#include <torch/torch.h>

#include <vector>

torch::Tensor cumsum(const torch::Tensor &x) {
  // CHECK: :[[@LINE+2]]:28: warning: 'x.cpu().cumsum(0)' goes to the current cuda device, whichever device 'x' is on: use x.device() [device-bare-cuda]
  // CHECK: :[[@LINE+1]]:28: warning: 'x.cpu().cumsum(0)' goes back to the current cuda device {{.*}} [device-cpu-round-trip]
  return x.cpu().cumsum(0).cuda();
}

torch::Tensor toMps(torch::Tensor x, const torch::Tensor &weight) {
  auto options = torch::TensorOptions().dtype(torch::kFloat).device(torch::kMPS);
  // CHECK: :[[@LINE-1]]:{{[0-9]+}}: warning: 'torch::zeros({3}, options)' is made on the current mps device, whichever device 'weight' is on: use weight.device() [device-bare-cuda]
  auto zeros = torch::zeros({3}, options);
  // CHECK: warning: 'x' goes to the fixed device cuda:0, whichever device 'weight' is on: use weight.device() [device-bare-cuda]
  return x.to(torch::Device("cuda:0")) * weight + zeros;
}

torch::Tensor missing(const torch::Tensor &x) {
  // CHECK: warning: 'torch::ones({2}, torch::kDouble)' makes a tensor on the CPU that meets 'x': {{.*}} [device-missing-device]
  return torch::cat({x, torch::ones({2}, torch::kDouble)});
}

struct NetImpl : torch::nn::Module {
  NetImpl() : fc(register_module("fc", torch::nn::Linear(8, 8))), mean_(register_buffer("mean", torch::zeros({8}))) {}
  torch::Tensor forward(torch::Tensor x) {
    // CHECK: warning: 'x.isnan().any().item<bool>()' makes {{.*}} (in 'forward') [device-host-sync]
    if (x.isnan().any().item<bool>())
      // CHECK: warning: 'x.index({x > 0})' needs {{.*}} [device-host-sync]
      x = x.index({x > 0});
    // CHECK: warning: 'x[x > 1]' needs {{.*}} [device-host-sync]
    return fc->forward(x) - mean_ - offset_ + x[x > 1].sum();
  }
  torch::nn::Linear fc;
  torch::Tensor mean_;
  // CHECK: error: tensor member 'offset_' of module 'NetImpl' {{.*}} [device-unregistered-state]
  torch::Tensor offset_ = torch::ones({8});
};
TORCH_MODULE(Net);

void replace(torch::Device device) {
  Net model;
  model->to(device);
  // CHECK: error: 'model->replace_module("fc", torch::nn::Linear(8, 2))' adds a part on the CPU to 'model'{{.*}} [device-module-replaced-after-to]
  model->fc = model->replace_module("fc", torch::nn::Linear(8, 2));
  torch::nn::Sequential layers(torch::nn::Linear(8, 8), torch::nn::ReLU());
  layers->to(device);
  // CHECK: error: 'layers->push_back("last", torch::nn::Linear(8, 2))' {{.*}} [device-module-replaced-after-to]
  layers->push_back("last", torch::nn::Linear(8, 2));
  Net loaded;
  loaded->to(device);
  // CHECK: error: 'torch::load(loaded->fc, "fc.pt")' {{.*}} [device-module-replaced-after-to]
  torch::load(loaded->fc, "fc.pt");
}

torch::Tensor gather(const c10::intrusive_ptr<c10d::ProcessGroup> &group, const torch::Tensor &x) {
  std::vector<std::vector<torch::Tensor>> outputs{{torch::empty_like(x), torch::empty_like(x)}};
  std::vector<torch::Tensor> inputs{x};
  // CHECK: error: 'allgather' gathers {{.*}} [device-collective-drops-grad]
  group->allgather(outputs, inputs)->wait();
  return torch::stack(outputs[0]);
}

// CHECK: 1 file: 13 findings

// Silent: checked to be on the host, under a guard, moved in time, registered.
torch::Tensor onHost(const torch::Tensor &x) {
  TORCH_CHECK(x.device().is_cpu(), "CPU only");
  return x + torch::zeros({3});
}
torch::Tensor guarded(const torch::Tensor &x) {
  const c10::DeviceGuard guard(x.device());
  return x + torch::zeros({3}, torch::kCUDA) + torch::arange(3, x.options().dtype(torch::kLong));
}
double onHostLoop(const torch::Tensor &x) {
  auto host = x.cpu();
  double sum = 0;
  for (int i = 0; i < 3; ++i)
    sum += host[i].item<double>();
  return sum;
}
int main() {
  torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  Net model;
  model->to(device);
  auto scripted = torch::jit::load("model.pt", device);
  scripted.to(device);
}
