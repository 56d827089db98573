// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

#include <vector>

struct NormImpl : torch::nn::Module {
  NormImpl() : mean_(register_buffer("mean", torch::zeros({3}))) {
    auto variance = torch::ones({3});
    variance_ = register_buffer("variance", variance);
    later_ = torch::ones({3});
    register_buffer("later", later_);
  }
  torch::Tensor forward(torch::Tensor x) {
    activation_ = torch::relu(x);
    auto scratch = torch::zeros_like(x);
    scratch_ = scratch;
    return (x - mean_) / variance_ + later_ + bias_ + activation_;
  }
  torch::Tensor mean_, variance_, later_;
  torch::Tensor bias_ = register_parameter("bias", torch::zeros({3}));
  // A cache of what the last call computed is no state.
  torch::Tensor activation_, scratch_;
};

// Made on the device of the first input.
class Lazy {
public:
  void update(const torch::Tensor &x) {
    if (!total_.defined())
      total_ = torch::zeros({1}, x.options());
    total_ += x.sum();
  }
  torch::Tensor compute() const { return total_; }

private:
  torch::Tensor total_;
};

// Follows the input, from wherever it was made.
class Following {
public:
  Following() : total_(torch::zeros({1})) {}
  void update(const torch::Tensor &x) {
    total_ = total_.to(x.device());
    total_ += x.sum();
  }

private:
  torch::Tensor total_;
};

// The user said where.
class Placed {
public:
  explicit Placed(torch::Device device) : total_(torch::zeros({1}, device)) {}
  void update(const torch::Tensor &x) { total_ += x.sum(); }

private:
  torch::Tensor total_;
};
class Movable {
public:
  Movable() : total_(torch::zeros({1})) {}
  void to(torch::Device device) { total_ = total_.to(device); }
  void update(const torch::Tensor &x) { total_ += x.sum(); }

private:
  torch::Tensor total_;
};

// Moved wherever it is used.
struct TableImpl : torch::nn::Module {
  TableImpl() : table_(torch::arange(10)) {}
  torch::Tensor forward(torch::Tensor x) { return x + table_.to(x.device()); }
  torch::Tensor table_;
};

// Handed in by the caller, whose matter its device is.
struct GivenImpl : torch::nn::Module {
  explicit GivenImpl(torch::Tensor weights) : weights_(weights) {}
  torch::Tensor weights_;
};

// A class without steps.
struct Batch {
  torch::Tensor data = torch::zeros({1});
};
