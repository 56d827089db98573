// Files with missing headers: a factory that is given something unknown makes its tensor where its other arguments say.
// RUN: not %check_mock | %file_check
#include <torch/script.h>
#include <torch/torch.h>

#include "not_there.h"

at::Tensor sized(at::Tensor x) {
  auto out = at::empty(missing::sizes(x), at::TensorOptions().device(at::kCUDA));
  // CHECK: :[[@LINE-1]]:70: warning: {{.*}} is made on the current cuda device, whichever device 'x' is on{{.*}}[device-bare-cuda]
  return out;
}

template <typename Key> struct Table {
  Table(const at::Tensor &keys) { map_ = missing::make(keys); }
  at::Tensor keys() {
    const auto size = static_cast<int64_t>(map_->size());
    // CHECK: :[[@LINE+1]]:56: warning: {{.*}} whichever device the tensor that 'Table' is made of is on [device-bare-cuda]
    const auto options = torch::TensorOptions().device(at::kCUDA);
    return at::empty({size}, options);
  }
  missing::Map<Key> map_;
};

// The unknown part may be the device.
at::Tensor unknownDevice(at::Tensor x) {
  auto out = at::empty({2}, missing::options(x));
  auto other = at::empty(missing::sizes(x), missing::on(at::kCUDA));
  return out + other;
}
at::Tensor onItsDevice(at::Tensor x) { return at::empty(missing::sizes(x), at::TensorOptions().device(x.device())); }

// Whatever the unknown argument stands for.
at::Tensor data(at::Tensor x) {
  auto a = torch::tensor(missing::value(), at::TensorOptions().device(x.device()));
  auto b = torch::tensor({missing::value(), missing::value()}, at::TensorOptions().device(x.device()));
  auto c = torch::full({}, missing::value(), at::TensorOptions().device(x.device()));
  return a + b + c;
}

// The unknown part may be the device's index.
void numbered(torch::jit::Module &module, const missing::Context &context) {
  module.to(torch::kCUDA);
  // CHECK: :[[@LINE-1]]:13: warning: 'module' goes to the current cuda device, while 'context.index()' says which one to use [device-bare-cuda]
  auto options = torch::TensorOptions().device(torch::kCUDA, context.index()).dtype(torch::kFloat);
}
void numberedDevice(torch::jit::Module &module, const missing::Context &context) {
  module.to(torch::kCUDA);
  // CHECK: :[[@LINE-1]]:13: warning: 'module' goes to the current cuda device, while 'context.index()' says which one to use [device-bare-cuda]
  const torch::Device device(torch::kCUDA, context.index());
  auto x = torch::empty({2}, device);
}
void numberedThere(torch::jit::Module &module, const missing::Context &context) {
  module.to(torch::Device(torch::kCUDA, context.index()));
  auto x = torch::empty({2}, torch::Device(torch::kCUDA, context.index()));
}
