// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <memory>
#include <optional>
#include <vector>

struct NormImpl : torch::nn::Module {
  // CHECK: :[[@LINE+1]]:22: error: tensor member 'mean_' of module 'NormImpl' is neither buffer nor parameter, so it does not follow .to() [device-unregistered-state]
  NormImpl() : mean_(torch::zeros({3})) {
    scale_ = register_parameter("scale", torch::ones({3}));
    auto betas = torch::linspace(0, 1, 10);
    // CHECK: :[[@LINE+1]]:15: error: tensor member 'alphas_' of module 'NormImpl' {{.*}} [device-unregistered-state]
    alphas_ = 1 - betas;
    // CHECK: :[[@LINE+1]]:23: error: tensor member 'tables_' of module 'NormImpl' {{.*}} [device-unregistered-state]
    tables_.push_back(torch::ones({3}));
  }
  torch::Tensor forward(torch::Tensor x) { return (x - mean_) * scale_ + bias_.value() + alphas_; }

  torch::Tensor mean_;
  torch::Tensor scale_;
  // CHECK: :[[@LINE+1]]:40: error: tensor member 'bias_' of module 'NormImpl' {{.*}} [device-unregistered-state]
  std::optional<torch::Tensor> bias_ = torch::zeros({3});
  torch::Tensor alphas_;
  std::vector<torch::Tensor> tables_;
};

// Moved once, in the constructor: to() leaves it behind.
struct DiffusionImpl : torch::nn::Module {
  // CHECK: :[[@LINE+1]]:85: error: tensor member 'betas_' of module 'DiffusionImpl' {{.*}} [device-unregistered-state]
  explicit DiffusionImpl(torch::Device device) { betas_ = torch::linspace(0, 1, 10).to(device); }
  torch::Tensor forward(torch::Tensor x) { return x * betas_; }
  torch::Tensor betas_;
};

// No constructor of its own.
struct BareImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) { return x + offset; }
  // CHECK: :[[@LINE+1]]:26: error: tensor member 'offset' of module 'BareImpl' {{.*}} [device-unregistered-state]
  torch::Tensor offset = torch::ones({1});
};

class PearsonCorrCoef {
public:
  // CHECK: :[[@LINE+5]]:31: error: tensor member 'mean_x_' of metric 'PearsonCorrCoef' is made on the CPU and stays there [device-unregistered-state]
  // CHECK: :[[@LINE+13]]:17: note: declared here
  // CHECK: :[[@LINE+5]]:15: note: meets another tensor here
  // CHECK: remedy: create it on the device of the first input
  // CHECK: :[[@LINE+1]]:58: error: tensor member 'total_' of metric 'PearsonCorrCoef' {{.*}} [device-unregistered-state]
  PearsonCorrCoef() : mean_x_(torch::zeros({1})), total_(torch::zeros({1}, torch::kDouble)) {}
  void update(const torch::Tensor &x, const torch::Tensor &y) {
    mean_x_ = mean_x_ + x.mean();
    total_ += y.sum();
  }
  torch::Tensor compute() const { return mean_x_ / total_; }
  void reset() { mean_x_ = torch::zeros({1}); }

private:
  torch::Tensor mean_x_;
  torch::Tensor total_;
};

// Submodules that nobody registers.
struct HeadImpl : torch::nn::Module {
  torch::nn::Linear fc{nullptr};
};
struct PolicyImpl : torch::nn::Module {
  explicit PolicyImpl(std::shared_ptr<HeadImpl> base) : base_(base) {
    // CHECK: :[[@LINE+1]]:13: error: submodule 'head_' of module 'PolicyImpl' is not registered, so it does not follow .to(), and its parameters are not among the module's [device-unregistered-state]
    head_ = std::make_shared<HeadImpl>();
    // CHECK: remedy: make it with `register_module`
    // CHECK: :[[@LINE+1]]:11: error: submodule 'fc_' of module 'PolicyImpl' is not registered{{.*}} [device-unregistered-state]
    fc_ = torch::nn::Linear(2, 3);
  }
  torch::Tensor forward(torch::Tensor x) { return fc_->forward(x); }
  std::shared_ptr<HeadImpl> base_, head_;
  torch::nn::Linear fc_{nullptr};
};
