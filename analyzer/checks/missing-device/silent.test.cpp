// RUN: %check_mock | %file_check --allow-empty
#include <torch/autograd.h>
#include <torch/torch.h>

// The device follows, at once or later, or is in the options.
torch::Tensor moved(const torch::Tensor &x) { return x + torch::zeros({3}).to(x.device()); }
torch::Tensor movedLater(const torch::Tensor &x) {
  auto table = torch::arange(5);
  table = table.to(x.device());
  return x * table;
}
torch::Tensor options(const torch::Tensor &x) {
  auto i32 = torch::TensorOptions().dtype(torch::kInt).device(x.device());
  return x + torch::zeros({3}, i32) + torch::ones({3}, x.options()) + torch::zeros_like(x) + x.new_zeros({3});
}
torch::Tensor given(const torch::Tensor &x, torch::TensorOptions wanted) { return x + torch::zeros({3}, wanted); }

// Numbers without a dimension are promoted to the other's device.
torch::Tensor number(const torch::Tensor &x) {
  return x * torch::tensor(2.0) + torch::scalar_tensor(1) + torch::full({}, 3.0);
}

// Host tensors may be indices and sources of copies.
torch::Tensor allowed(torch::Tensor x) {
  auto rows = torch::arange(3);
  x.copy_(torch::ones({3}));
  return x.index({rows});
}

// Known to be on the host.
torch::Tensor onHost(const torch::Tensor &x) {
  TORCH_CHECK(!x.is_cuda(), "CPU only");
  return x + torch::zeros({3});
}
#define CHECK_CPU(x) TORCH_CHECK((x).device().is_cpu(), #x " must be a CPU tensor")
torch::Tensor onHostByMacro(const torch::Tensor &x, const torch::Tensor &y) {
  CHECK_CPU(x);
  auto out = torch::empty({3});
  out += x;
  return out;
}
torch::Tensor read(const torch::Tensor &x) {
  auto rows = x.accessor<float, 2>();
  return x + torch::zeros({3});
}

// Metadata made for the host.
std::tuple<torch::Tensor, torch::Tensor> offsets(const torch::Tensor &x) {
  return std::make_tuple(x * 2, torch::zeros({4}, torch::kLong));
}
int64_t alone() {
  auto a = torch::zeros({3});
  auto b = torch::ones({3}) + a;
  return b.dim();
}

// Members of a class that is no module may be kept on the host.
struct Scene {
  torch::Tensor origin;
  torch::Tensor points() const { return torch::zeros({3}) - origin; }
};

// A helper that makes it where the other one is.
static torch::Tensor rampLike(int n, const torch::Tensor &like) { return torch::arange(n, like.device()); }
static torch::Tensor placed(const torch::Tensor &x, torch::Device device) { return x.to(device); }
torch::Tensor helped(const torch::Tensor &x) {
  return x * rampLike(3, x) + placed(torch::zeros({3}), x.device());
}

// Metadata for the code that does the work; a function that is no operator.
torch::Tensor launch(const torch::Tensor &x, const torch::Tensor &sizes);
struct Sized : torch::autograd::Function<Sized> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext *context, torch::Tensor x) {
    return {launch(x, torch::zeros({4}, torch::kInt)), launch(x, torch::arange(4))};
  }
};
torch::Tensor plain(const torch::Tensor &x) { return launch(x, torch::zeros({4})); }

// The type says which kind of device.
torch::Tensor ofType(const torch::Tensor &x) { return torch::zeros({3}, x.type().toScalarType(torch::kByte)); }
torch::Tensor ofSameType(const torch::Tensor &x) { return x * torch::zeros({3}, x.type()); }
