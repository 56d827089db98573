// What the fixes write compiles with the real LibTorch headers, and is clean.
// RUN: cp %s %t.cpp
// RUN: %devsan_check --torch=%torch_dir --fix=all %t.cpp --
// RUN: FileCheck --input-file=%t.cpp %s
// RUN: %devsan_check --strict --torch=%torch_dir %t.cpp --
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/torch.h>

#include <memory>
#include <vector>

struct HeadImpl : torch::nn::Module {
  torch::Tensor scale = register_parameter("scale", torch::ones({3}));
};
struct NetImpl : torch::nn::Module {
  // CHECK: {{^  }}NetImpl() : mean_(register_buffer("mean_", torch::zeros({3}))) {
  NetImpl() : mean_(torch::zeros({3})) {
    // CHECK: {{^    }}scale_ = register_buffer("scale_", 1 - torch::linspace(0, 1, 3));
    scale_ = 1 - torch::linspace(0, 1, 3);
    // CHECK: {{^    }}head_ = register_module("head_", std::make_shared<HeadImpl>());
    head_ = std::make_shared<HeadImpl>();
    // CHECK: {{^    }}fc_ = register_module("fc_", torch::nn::Linear(3, 3));
    fc_ = torch::nn::Linear(3, 3);
  }
  torch::Tensor forward(torch::Tensor x) { return fc_->forward(x - mean_) * scale_ + offset_; }
  torch::Tensor mean_, scale_;
  // CHECK: {{^  }}torch::Tensor offset_ = register_buffer("offset_", torch::ones({3}));
  torch::Tensor offset_ = torch::ones({3});
  std::shared_ptr<HeadImpl> head_;
  torch::nn::Linear fc_{nullptr};
};

// ReLU and MaxPool2d have nothing to register; eval() has to reach a Dropout and an RReLU.
struct InPlaceImpl : torch::nn::Module {
  explicit InPlaceImpl(int64_t n)
      // CHECK: {{^      }}: fc(register_module("fc", torch::nn::Linear(torch::nn::LinearOptions(n, 3)))),
      : fc(torch::nn::LinearOptions(n, 3)),
        // CHECK: {{^        }}norm(register_module("norm", torch::nn::BatchNorm2d{n})),
        norm{n},
        // CHECK: {{^        }}layers(register_module("layers", torch::nn::Sequential(torch::nn::Linear(n, n), torch::nn::ReLU()))),
        layers(torch::nn::Linear(n, n), torch::nn::ReLU()),
        // CHECK: {{^        }}activations(torch::nn::ReLU(), torch::nn::MaxPool2d(2)),
        activations(torch::nn::ReLU(), torch::nn::MaxPool2d(2)),
        // CHECK: {{^        }}pool(torch::nn::MaxPool2dOptions(2)),
        pool(torch::nn::MaxPool2dOptions(2)),
        // CHECK: {{^        }}drop(register_module("drop", torch::nn::Dropout(0.5))), rrelu(register_module("rrelu", torch::nn::RReLU())), relu() {}
        drop(0.5), rrelu(), relu() {}
  torch::Tensor forward(torch::Tensor x) { return relu(drop(pool(fc(x)))); }
  torch::nn::Linear fc;
  torch::nn::BatchNorm2d norm;
  torch::nn::Sequential layers, activations;
  torch::nn::MaxPool2d pool;
  torch::nn::Dropout drop;
  torch::nn::RReLU rrelu;
  torch::nn::ReLU relu;
};

torch::Tensor made(const torch::Tensor &x) {
  // CHECK: {{^  }}auto a = torch::arange(5, x.device());
  auto a = torch::arange(5);
  // CHECK: {{^  }}auto b = torch::zeros({5}, torch::dtype(x.scalar_type()).device(x.device()));
  auto b = torch::zeros({5}, x.scalar_type());
  auto options = torch::TensorOptions().dtype(torch::kDouble);
  // CHECK: {{^  }}auto c = torch::ones({5}, options.device(x.device()));
  auto c = torch::ones({5}, options);
  // CHECK: {{^  }}auto d = at::full({5}, 2, at::dtype(at::kInt).device(x.device()));
  auto d = at::full({5}, 2, at::dtype(at::kInt));
  return x + a + (x + b) + (x + c) + (x * d);
}

torch::Tensor moved(torch::Tensor x, const torch::Tensor &weight) {
  // CHECK: {{^  }}auto a = x.to(weight.device()) * weight;
  auto a = x.cuda() * weight;
  // CHECK: {{^  }}auto b = torch::zeros({2}, weight.device());
  auto b = torch::zeros({2}, torch::kCUDA);
  // CHECK: {{^  }}auto c = torch::ones({2}, torch::dtype(torch::kLong).device(weight.device()));
  auto c = torch::ones({2}, torch::dtype(torch::kLong).device(torch::kMPS));
  return a + b + c;
}

struct Batch {
  torch::Tensor data;
};
TORCH_MODULE(Net);
torch::Tensor members(const Batch *batch, const std::shared_ptr<Batch> &shared, const Batch &plain, Net net) {
  // CHECK: {{^  }}auto a = torch::zeros({3}, batch->data.device());
  auto a = torch::zeros({3});
  // CHECK: {{^  }}auto b = torch::zeros({3}, shared->data.device());
  auto b = torch::zeros({3});
  // CHECK: {{^  }}auto c = torch::zeros({3}, plain.data.device());
  auto c = torch::zeros({3});
  // CHECK: {{^  }}auto d = torch::zeros({3}, net->mean_.device());
  auto d = torch::zeros({3});
  return (batch->data + a) * (shared->data + b) * (plain.data + c) * (net->mean_ + d);
}

torch::Tensor shapes(torch::Tensor mask, const torch::Tensor *x, int mode) {
  // CHECK: {{^  }}auto make = [&](int n) { return torch::zeros({n}, x->device()) + *x; };
  auto make = [&](int n) { return torch::zeros({n}) + *x; };
  switch (mode) {
  case 0:
    // CHECK: {{^    }}return *x + torch::zeros({3}, x->device());
    return *x + torch::zeros({3});
  default:
    break;
  }
  if (!mask.defined())
    // CHECK: {{^    }}mask = torch::ones({3}, x->device());
    mask = torch::ones({3}, torch::kCUDA);
  return make(3) * mask;
}

torch::Tensor gather(const c10::intrusive_ptr<c10d::ProcessGroup> &group, const torch::Tensor &x) {
  std::vector<std::vector<torch::Tensor>> outputs{{torch::empty_like(x), torch::empty_like(x)}};
  std::vector<torch::Tensor> inputs{x};
  group->allgather(outputs, inputs)->wait();
  // CHECK: {{^  }}outputs[0][group->getRank()] = inputs[0];
  return torch::stack(outputs[0]);
}
