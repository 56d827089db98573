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

// A device that only run time tells.
struct Config {
  std::string device;
  int index;
};
torch::Tensor named(const torch::Tensor &x, const std::string &name, const Config &config, int type) {
  torch::Device device(name);
  torch::Device typed(static_cast<torch::DeviceType>(type));
  return x + torch::zeros({3}, device) + torch::zeros({3}, typed) +
         torch::ones({3}, torch::dtype(torch::kFloat).device(config.device)) +
         torch::ones({3}, torch::TensorOptions(config.device)) +
         torch::zeros({3}, torch::Device("cuda:" + std::to_string(config.index)));
}

// Known to be on the host, said in other ways.
torch::Tensor kept(const torch::Tensor &x) {
  bool is_cuda = x.is_cuda();
  if (is_cuda)
    return x;
  return x + torch::zeros({3});
}
torch::Tensor byIndex(const torch::Tensor &x, const torch::Tensor &y) {
  TORCH_CHECK(y.get_device() < 0);
  if (x.get_device() == -1)
    return x + torch::zeros({3}) + (y + torch::ones({3}));
  return x;
}
torch::Tensor byType(const torch::Tensor &x) {
  AT_ASSERTM(!x.type().is_cuda(), "x must be a CPU tensor");
  return x + torch::zeros({3});
}
torch::Tensor bySwitch(const torch::Tensor &x) {
  switch (x.device().type()) {
  case torch::kCPU:
    return x + torch::zeros({3});
  default:
    return x;
  }
}
torch::Tensor byBackend(const torch::Tensor &x) {
  at::checkBackend("byBackend", {x}, at::Backend::CPU);
  return x + torch::zeros({3});
}
static void checkCpu(const torch::Tensor &t) { TORCH_CHECK(t.is_cpu()); }
torch::Tensor byHelper(const torch::Tensor &x) {
  checkCpu(x);
  return x + torch::zeros({3});
}
torch::Tensor together(const torch::Tensor &x, const torch::Tensor &y) {
  TORCH_CHECK(x.device() == y.device());
  TORCH_CHECK(x.is_cpu());
  return y + torch::zeros({3});
}
torch::Tensor pointer(const torch::Tensor &x) {
  const float *p = x.data_ptr<float>();
  float sum = 0;
  for (int i = 0; i < 3; ++i)
    sum += p[i];
  return x + torch::zeros({3});
}
torch::Tensor dispatched(const torch::Tensor &x) {
  [&] {
    auto rows = x.accessor<float, 1>();
    return rows;
  }();
  return x + torch::zeros({3});
}

// Moved, or another tensor, before they meet.
torch::Tensor movedInLoop(const std::vector<torch::Tensor> &parts, torch::Device device) {
  auto total = torch::zeros({3});
  if (device.is_cuda())
    total = total.to(device);
  for (const auto &part : parts)
    total = total + part;
  torch::Tensor sums = torch::zeros({3}), squares = torch::zeros({3});
  std::tie(sums, squares) = std::make_tuple(parts[0], parts[1]);
  return total + sums * parts[0];
}

torch::Tensor notOnFirst(const std::vector<torch::Tensor> &parts) {
  auto all = torch::zeros({3});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == 0)
      all = parts[i];
    else
      all = torch::cat({all, parts[i]});
  }
  return all;
}

// A module that nobody moved here, one of the program's own, and the constructor's first run.
struct Placed : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x);
};
struct Wrapper : torch::nn::Module {
  Wrapper() { embedding->forward(torch::arange(3)); }
  torch::Tensor forward(torch::Tensor x) { return placed->forward(torch::zeros({3})); }
  torch::nn::Embedding embedding = register_module("embedding", torch::nn::Embedding(4, 4));
  std::shared_ptr<Placed> placed = register_module("placed", std::make_shared<Placed>());
};
void unmoved(torch::nn::Linear net) { net->forward(torch::randn({3, 4})); }

// The type says which kind of device.
torch::Tensor ofType(const torch::Tensor &x) { return torch::zeros({3}, x.type().toScalarType(torch::kByte)); }
torch::Tensor ofSameType(const torch::Tensor &x) { return x * torch::zeros({3}, x.type()); }

// Moved beside another tensor, or asked for its shape only.
torch::Tensor asOther(const torch::Tensor &x) {
  auto weights = torch::ones({3}).expand_as(x);
  return x * torch::arange(3).type_as(x) + weights.to(x.device());
}

// All callers have theirs on the host.
static torch::Tensor overlap(torch::Tensor box) { return box * torch::zeros({3}); }
torch::Tensor suppress(torch::Tensor boxes) {
  auto host = boxes.cpu();
  return overlap(host[0].unsqueeze(0));
}

// A module that is being made is on the CPU still.
class Convolved : public torch::nn::Module {
public:
  Convolved() : conv_(register_module("conv", torch::nn::Linear(3, 3))), size_(sizeOf(3)) {}
  torch::Tensor forward(torch::Tensor x) { return conv_->forward(x.to(torch::kFloat)); }

private:
  int64_t sizeOf(int64_t n) { return conv_->forward(torch::zeros({n, n})).numel(); }
  torch::nn::Linear conv_;
  int64_t size_;
};
