// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <optional>
#include <vector>

struct NormImpl : torch::nn::Module {
  NormImpl() : mean_(torch::zeros({3})) {
    scale_ = register_parameter("scale", torch::ones({3}));
    auto betas = torch::linspace(0, 1, 10);
    alphas_ = 1 - betas;
    tables_.push_back(torch::ones({3}));
  }
  torch::Tensor forward(torch::Tensor x) { return (x - mean_) * scale_ + bias_.value() + alphas_; }

  // CHECK: :[[@LINE+1]]:17: error: tensor member 'mean_' of module 'NormImpl' is neither buffer nor parameter, so it does not follow .to(): make it with register_buffer, or create it on the device of the first input [device-unregistered-state]
  torch::Tensor mean_;
  torch::Tensor scale_;
  // CHECK: :[[@LINE+1]]:32: error: tensor member 'bias_' of module 'NormImpl' {{.*}} [device-unregistered-state]
  std::optional<torch::Tensor> bias_ = torch::zeros({3});
  // CHECK: :[[@LINE+1]]:17: error: tensor member 'alphas_' of module 'NormImpl' {{.*}} [device-unregistered-state]
  torch::Tensor alphas_;
  // CHECK: :[[@LINE+1]]:30: error: tensor member 'tables_' of module 'NormImpl' {{.*}} [device-unregistered-state]
  std::vector<torch::Tensor> tables_;
};

// Moved once, in the constructor: to() leaves it behind.
struct DiffusionImpl : torch::nn::Module {
  explicit DiffusionImpl(torch::Device device) { betas_ = torch::linspace(0, 1, 10).to(device); }
  torch::Tensor forward(torch::Tensor x) { return x * betas_; }
  // CHECK: :[[@LINE+1]]:17: error: tensor member 'betas_' of module 'DiffusionImpl' {{.*}} [device-unregistered-state]
  torch::Tensor betas_;
};

// No constructor of its own.
struct BareImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) { return x + offset; }
  // CHECK: :[[@LINE+1]]:17: error: tensor member 'offset' of module 'BareImpl' {{.*}} [device-unregistered-state]
  torch::Tensor offset = torch::ones({1});
};

class PearsonCorrCoef {
public:
  PearsonCorrCoef() : mean_x_(torch::zeros({1})), total_(torch::zeros({1}, torch::kDouble)) {}
  void update(const torch::Tensor &x, const torch::Tensor &y) {
    mean_x_ = mean_x_ + x.mean();
    total_ += y.sum();
  }
  torch::Tensor compute() const { return mean_x_ / total_; }
  void reset() { mean_x_ = torch::zeros({1}); }

private:
  // CHECK: :[[@LINE+2]]:17: error: tensor member 'mean_x_' of metric 'PearsonCorrCoef' is made on the CPU and stays there: create it on the device of the first input [device-unregistered-state]
  // CHECK: :[[@LINE-8]]:15: note: meets another tensor here
  torch::Tensor mean_x_;
  // CHECK: :[[@LINE+1]]:17: error: tensor member 'total_' of metric 'PearsonCorrCoef' {{.*}} [device-unregistered-state]
  torch::Tensor total_;
};
