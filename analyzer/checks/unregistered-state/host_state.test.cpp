// A metric's state that only meets tensors of the host belongs there.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

class WeightedMean {
public:
  WeightedMean() : sum_(torch::zeros({1})), weight_(torch::zeros({1})) {}
  void update(const torch::Tensor &x, const torch::Tensor &weight) {
    sum_ += (x * weight).sum().to(torch::kCPU);
    const auto host = weight.sum().cpu();
    weight_ = weight_ + host;
  }

private:
  torch::Tensor sum_, weight_;
};

class Mixed {
public:
  // CHECK: :[[@LINE+1]]:18: error: tensor member 'sum_' of metric 'Mixed' {{.*}} [device-unregistered-state]
  Mixed() : sum_(torch::zeros({1})) {}
  void update(const torch::Tensor &x, const torch::Tensor &y) {
    sum_ += x.sum().to(torch::kCPU);
    sum_ += y.sum();
  }

private:
  torch::Tensor sum_;
};

// It brings what it is given to the host, where its state is.
class Replay {
public:
  Replay() : priorities_(torch::zeros({9})) {}
  void update(torch::Tensor indices, torch::Tensor values) {
    torch::Tensor at = indices.to(torch::kCPU);
    values = values.cpu();
    priorities_.index_put_({at}, values);
  }

private:
  torch::Tensor priorities_;
};

// One of the two may be anywhere.
class HalfReplay {
public:
  // CHECK: [[#@LINE+1]]:{{.*}} [device-unregistered-state]
  HalfReplay() : priorities_(torch::zeros({9})) {}
  void update(torch::Tensor indices, torch::Tensor values) {
    priorities_ += values.to(torch::kCPU);
    priorities_ += indices;
  }

private:
  torch::Tensor priorities_;
};
