// RUN: not %check_mock | %file_check
#include <torch/autograd.h>
#include <torch/torch.h>

torch::Tensor added(const torch::Tensor &x) {
  // CHECK: :[[@LINE+1]]:14: warning: 'torch::zeros({3})' makes a tensor on the CPU that meets 'x': pass the device (x.device()) [device-missing-device]
  return x + torch::zeros({3});
}

torch::Tensor throughVariables(torch::Tensor x) {
  // CHECK: :[[@LINE+1]]:16: warning: 'torch::arange(5)' makes a tensor on the CPU that meets 'y', which is on the device of 'x': pass the device (x.device()) [device-missing-device]
  auto steps = torch::arange(5);
  auto scaled = steps * 2;
  auto y = torch::relu(x);
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: note: here they come together
  return torch::matmul(y, scaled);
}

torch::Tensor inList(torch::Tensor x) {
  auto options = torch::TensorOptions().dtype(torch::kDouble);
  // CHECK: warning: 'torch::ones({2}, options)' makes a tensor on the CPU that meets 'x': {{.*}} [device-missing-device]
  return torch::cat({x, torch::ones({2}, options)});
}

torch::Tensor dtypeOnly(torch::Tensor x) {
  // CHECK: warning: 'torch::empty({2}, torch::kFloat)' makes a tensor on the CPU that meets 'x'{{.*}} [device-missing-device]
  auto out = torch::empty({2}, torch::kFloat);
  out += x;
  return out;
}

std::tuple<torch::Tensor, torch::Tensor> beside(torch::Tensor x) {
  // CHECK: warning: 'torch::zeros({4})' makes a tensor on the CPU that is returned beside 'x * 2', which is on the device of 'x': {{.*}} [device-missing-device]
  auto grad = torch::zeros({4});
  return std::make_tuple(x * 2, grad);
}

torch::Tensor dtypeWithoutDevice(torch::Tensor x) {
  // CHECK: warning: 'at::empty({4}, x.scalar_type())' makes a tensor on the CPU that is returned without the device of 'x'{{.*}} [device-missing-device]
  auto out = at::empty({4}, x.scalar_type());
  return out;
}

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    torch::Tensor mask;
    if (is_training())
      // CHECK: warning: 'torch::rand({4})' makes a tensor on the CPU that meets 'x': {{.*}} [device-missing-device]
      mask = torch::rand({4});
    else
      mask = torch::ones({4}, torch::kDouble);
    // CHECK: note: here they come together
    return x * mask;
  }
  torch::Tensor noise(torch::Tensor x) {
    // CHECK: warning: 'torch::randn({4})' makes a tensor on the CPU that meets 'weight': pass the device (weight.device()) [device-missing-device]
    return weight + torch::randn({4});
  }
  torch::Tensor weight = register_parameter("weight", torch::zeros({4}));
};

// A helper of this file makes it.
static torch::Tensor ramp(int n) { return torch::arange(n, torch::kFloat); }
torch::Tensor helped(const torch::Tensor &x) {
  // CHECK: warning: 'ramp(3)' makes a tensor on the CPU that meets 'x': pass the device (x.device()) [device-missing-device]
  return x * ramp(3);
}

// Handed to the code that does the operator's work.
torch::Tensor rasterize(const torch::Tensor &colors, const torch::Tensor &alpha);
struct Rasterize : torch::autograd::Function<Rasterize> {
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext *context,
                                                 torch::autograd::variable_list grads) {
    torch::Tensor colors = grads[0];
    // CHECK: warning: 'torch::zeros({4, 4})' makes a tensor on the CPU that is handed on beside 'colors'{{.*}} [device-missing-device]
    auto alpha = torch::zeros({4, 4});
    return {rasterize(colors, alpha)};
  }
};

// What only the first turn of a loop shows.
torch::Tensor sum(const std::vector<torch::Tensor> &parts) {
  // CHECK: warning: 'torch::zeros({3})' makes a tensor on the CPU that meets 'part'{{.*}} [device-missing-device]
  auto total = torch::zeros({3});
  for (const auto &part : parts)
    total = total + part;
  return total;
}
torch::Tensor join(const torch::Tensor &x) {
  // CHECK: warning: 'torch::ones({3})' makes a tensor on the CPU that meets 'x[i]'{{.*}} [device-missing-device]
  auto all = torch::ones({3});
  for (int i = 0; i < 3; ++i)
    all = torch::cat({all, x[i]});
  return all;
}

// Modules of LibTorch compute where their parameters are.
struct Tagger : torch::nn::Module {
  torch::Tensor forward(torch::Tensor ids) {
    // CHECK: warning: 'torch::arange(ids.size(1))' makes a tensor on the CPU that meets 'embedding'{{.*}} [device-missing-device]
    auto positions = embedding->forward(torch::arange(ids.size(1)));
    // CHECK: warning: 'torch::zeros({4})' makes a tensor on the CPU that meets 'ids[t]'{{.*}} [device-missing-device]
    auto h = torch::zeros({4});
    // CHECK: warning: 'torch::ones({4})' makes a tensor on the CPU that meets 'ids[t]'{{.*}} [device-missing-device]
    auto c = torch::ones({4});
    for (int64_t t = 0; t < ids.size(0); ++t)
      std::tie(h, c) = cell->forward(ids[t], std::make_tuple(h, c));
    return h;
  }
  torch::nn::Embedding embedding = register_module("embedding", torch::nn::Embedding(4, 4));
  torch::nn::LSTMCell cell = register_module("cell", torch::nn::LSTMCell(4, 4));
};
void train(torch::nn::Linear net, torch::Device device) {
  net->to(device);
  for (int i = 0; i < 3; ++i)
    // CHECK: warning: 'torch::randn({3, 4})' makes a tensor on the CPU that meets 'net'{{.*}} [device-missing-device]
    net->forward(torch::randn({3, 4}));
}

// Indices may be on the host, what they index may not, nor the values that are put there.
torch::Tensor look(const torch::Tensor &rows) {
  // CHECK: warning: 'torch::arange(256)' makes a tensor on the CPU that meets 'rows'{{.*}} [device-missing-device]
  auto table = torch::arange(256);
  return table.index({rows});
}
torch::Tensor put(torch::Tensor x, const torch::Tensor &rows) {
  // CHECK: warning: 'torch::ones({3})' makes a tensor on the CPU that meets 'x'{{.*}} [device-missing-device]
  return x.index_put({rows}, torch::ones({3}));
}

// Writing a part of a tensor does not change where it is.
void rows(torch::Tensor out) {
  out[0] = torch::zeros({3});
  // CHECK: warning: 'torch::arange(5)' makes a tensor on the CPU that meets 'out'{{.*}} [device-missing-device]
  out.add_(torch::arange(5));
}

// Checks that say nothing of the other one.
torch::Tensor unequal(const torch::Tensor &x, const torch::Tensor &y) {
  TORCH_CHECK(y.is_cpu());
  TORCH_CHECK(x.get_device() >= -1);
  // CHECK: warning: 'torch::zeros({3})' makes a tensor on the CPU that meets 'x'{{.*}} [device-missing-device]
  return x + torch::zeros({3});
}
static void checkDense(const torch::Tensor &t) { TORCH_CHECK(!t.is_sparse()); }
torch::Tensor dense(const torch::Tensor &x) {
  checkDense(x);
  bool cuda = x.is_cuda();
  cuda = true;
  if (cuda)
    // CHECK: warning: 'torch::zeros({3})' makes a tensor on the CPU that meets 'x'{{.*}} [device-missing-device]
    return x + torch::zeros({3});
  return x;
}

// The shape of another tensor moves nothing.
torch::Tensor shaped(const torch::Tensor &x) {
  // CHECK: :[[@LINE+1]]:18: warning: 'torch::ones({3})' makes a tensor on the CPU that meets 'x'{{.*}} [device-missing-device]
  auto weights = torch::ones({3}).expand_as(x);
  // CHECK: :[[@LINE+1]]:10: note: here they come together
  return x * weights;
}

// Bytes are data and no text: that one way has none leaves the blob where the other is.
torch::Tensor ofBytes(bool any) {
  auto mask = torch::zeros({4}, torch::kCUDA);
  auto blob = torch::from_blob(any ? mask.data_ptr<unsigned char>() : nullptr, {4});
  // CHECK: :[[@LINE+1]]:17: warning: {{.*}} makes a tensor on the CPU that meets 'blob', which is on the current cuda device{{.*}}[device-missing-device]
  return blob + torch::zeros({4});
}

// What others call, too, runs when it has been moved.
class Measured : public torch::nn::Module {
public:
  Measured() : conv_(register_module("conv", torch::nn::Linear(3, 3))), size_(sizeOf(3)) {}
  torch::Tensor forward(torch::Tensor x) { return x.view({sizeOf(x.size(0))}); }

private:
  // CHECK: :[[@LINE+1]]:53: warning: 'torch::zeros({n, n})' makes a tensor on the CPU that meets 'conv_'{{.*}} [device-missing-device]
  int64_t sizeOf(int64_t n) { return conv_->forward(torch::zeros({n, n})).numel(); }
  torch::nn::Linear conv_;
  int64_t size_;
};
// Nor is a forward() that the constructor tries out.
class TriedOut : public torch::nn::Module {
public:
  TriedOut() : conv_(register_module("conv", torch::nn::Linear(3, 3))) { size_ = forward(torch::ones({3})).numel(); }
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'torch::zeros({3})' makes a tensor on the CPU that meets {{.*}} [device-missing-device]
  torch::Tensor forward(torch::Tensor x) { return conv_->forward(torch::zeros({3})) + x; }
  torch::nn::Linear conv_;
  int64_t size_ = 0;
};

// Anybody can call it, also once the module has moved.
class Warmed : public torch::nn::Module {
public:
  Warmed() : conv_(register_module("conv", torch::nn::Linear(3, 3))) { warmUp(); }
  // CHECK: :[[@LINE+1]]:34: warning: {{.*}} [device-missing-device]
  void warmUp() { conv_->forward(torch::zeros({3, 3})); }
  torch::Tensor forward(torch::Tensor x) { return conv_->forward(x.to(torch::kFloat)); }

private:
  torch::nn::Linear conv_;
};
