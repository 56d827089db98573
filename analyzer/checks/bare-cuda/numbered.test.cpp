// The function itself says which device it works on: it is told the index.
// RUN: not %check_mock | %file_check
#include <c10/cuda/CUDAGuard.h>
#include <torch/script.h>
#include <torch/torch.h>

struct Context {
  int deviceIndex() const;
};

class Force {
public:
  explicit Force(Context &context) : context_(context) {}
  void initialize(torch::jit::Module &module) {
    // CHECK: :[[@LINE+1]]:15: warning: 'module' goes to the current cuda device, while 'context_.deviceIndex()' says which one to use [device-bare-cuda]
    module.to(torch::kCUDA);
    // CHECK: remedy: name the device with its index
    auto options = torch::TensorOptions().device(torch::kCUDA, context_.deviceIndex());
    positions_ = torch::empty({4, 3}, options);
  }
  void rightly(torch::jit::Module &module) {
    const torch::Device device(torch::kCUDA, context_.deviceIndex());
    module.to(device);
    positions_ = torch::empty({4, 3}, device);
  }

private:
  Context &context_;
  torch::Tensor positions_;
};

void trains(int rank) {
  torch::Device device(torch::kCUDA, rank);
  torch::nn::Linear model(3, 4);
  // CHECK: :[[@LINE+1]]:13: warning: 'model' goes to the current cuda device, while 'rank' says which one to use [device-bare-cuda]
  model->to(torch::kCUDA);
  // CHECK: warning: 'torch::zeros({2, 3}, torch::kCUDA)' is made on the current cuda device, while 'rank' says which one to use [device-bare-cuda]
  auto x = torch::zeros({2, 3}, torch::kCUDA);
  // CHECK: warning: {{.*}} goes to the current cuda device, while 'rank' says which one to use [device-bare-cuda]
  auto y = torch::zeros({2, 3}).cuda();
  auto z = torch::zeros({2, 3}, device);
  model->forward(x + y + z);
}

// The current device is that one.
void sets(int rank) {
  const c10::cuda::CUDAGuard guard(rank);
  torch::Device device(torch::kCUDA, rank);
  auto x = torch::zeros({2, 3}, torch::kCUDA) + torch::zeros({2, 3}, device);
}

// One of them, or the current one where none is told.
void mayBeTold(int rank, torch::jit::Module &module) {
  if (rank >= 0)
    module.to(torch::Device(torch::kCUDA, rank));
  else
    module.to(torch::kCUDA);
}

// All of them, and the current one.
torch::Tensor gathers(int devices) {
  torch::Tensor sum = torch::zeros({2}, torch::kCUDA);
  for (int i = 0; i < devices; ++i)
    sum += torch::ones({2}, torch::Device(torch::kCUDA, i)).to(torch::kCUDA);
  return sum;
}

// Another type of device.
void mixes(int index) {
  auto x = torch::zeros({2}, torch::Device(torch::kXPU, index));
  auto y = torch::zeros({2}, torch::kCUDA);
}

// The current one, and a number that a variable keeps, are nobody's choice.
void keepsNumber(torch::jit::Module &module) {
  const int gpu = 0;
  module.to(torch::kCUDA);
  auto x = torch::zeros({2}, torch::Device(torch::kCUDA, gpu));
}
void onCurrent(torch::jit::Module &module) {
  module.to(torch::kCUDA);
  auto x = torch::zeros({2}, torch::Device(torch::kCUDA, c10::cuda::current_device()));
}
