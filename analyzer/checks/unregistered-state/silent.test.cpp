// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

#include <memory>
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

// Registered at once, before, later, under another name, by a helper, or kept for somebody else.
struct PartImpl : torch::nn::Module {
  torch::Tensor scale = register_parameter("scale", torch::ones({3}));
};
struct WholeImpl : torch::nn::Module {
  explicit WholeImpl(torch::nn::Linear shared) : first_(register_module("first", torch::nn::Linear(2, 3))), given_(shared) {
    second_ = torch::nn::Linear(2, 3);
    register_module("second", second_);
    auto third = std::make_shared<PartImpl>();
    third_ = third;
    register_module("third", third);
    fourth_ = std::make_shared<PartImpl>();
    adopt("fourth", fourth_);
    fifth_ = register_module("fifth", std::make_shared<PartImpl>());
    friend_ = new PartImpl();
  }
  void adopt(const char *name, std::shared_ptr<PartImpl> part) { register_module(name, part); }
  torch::nn::Linear first_, second_{nullptr}, given_;
  std::shared_ptr<PartImpl> third_, fourth_, fifth_;
  PartImpl *friend_;
};

// Moved with the module.
struct TeacherImpl : torch::nn::Module {
  TeacherImpl() { model_ = std::make_shared<PartImpl>(); }
  void moveTo(torch::Device device) { model_->to(device); }
  std::shared_ptr<PartImpl> model_;
};

// What the constructor leaves to code that is elsewhere.
struct ElsewhereImpl : torch::nn::Module {
  ElsewhereImpl() {
    part_ = std::make_shared<PartImpl>();
    setUp();
  }
  void setUp();
  std::shared_ptr<PartImpl> part_;
};

// Made when it is needed.
struct LateImpl : torch::nn::Module {
  LateImpl() {}
  std::shared_ptr<PartImpl> part_;
};

// The other constructor sets it up.
struct TwoWaysImpl : torch::nn::Module {
  TwoWaysImpl() {}
  explicit TwoWaysImpl(int n);
  torch::nn::Sequential layers_;
};

// Its constructor is in another file, where it registers them.
struct HeaderImpl : torch::nn::Module {
  explicit HeaderImpl(int64_t classes);
  torch::nn::Sequential layers_{torch::nn::Linear(2, 3), torch::nn::ReLU()};
  torch::nn::Linear fc_ = torch::nn::Linear(2, 3);
  torch::Tensor scale_ = torch::ones({3});
};
