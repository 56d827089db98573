// Whether a part has parameters, buffers or a mode is asked of its type: one that has none of them loses nothing.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <memory>
#include <vector>

// Neither registers anything; one asks for the mode.
struct ScaleImpl : torch::nn::Module {
  explicit ScaleImpl(double by) : by_(by) {}
  torch::Tensor forward(torch::Tensor x) { return x * by_; }
  double by_;
  torch::nn::ReLU relu_;
};
struct NoiseImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) { return is_training() ? x + torch::rand({1}) : x; }
};
// What it registers has a mode.
struct WrapImpl : torch::nn::Module {
  WrapImpl() { drop_ = register_module("drop", torch::nn::Dropout(0.1)); }
  torch::nn::Dropout drop_{nullptr};
};
// Its constructor is elsewhere, and its member may be a parameter.
struct HiddenImpl : torch::nn::Module {
  HiddenImpl();
  torch::Tensor weight;
};
struct BufferImpl : torch::nn::Module {
  BufferImpl() { register_buffer("b", torch::ones({3})); }
};

struct NetImpl : torch::nn::Module {
  explicit NetImpl(int n)
      : pool_(2), relu_(), activations_(torch::nn::ReLU(), torch::nn::MaxPool2d(2)),
        // CHECK: :[[@LINE+1]]:9: error: submodule 'drop_' of module 'NetImpl' is not registered, so train() and eval() do not reach it [device-unregistered-state]
        drop_(0.5),
        // CHECK: :[[@LINE+1]]:9: error: submodule 'layers_' of module 'NetImpl' is not registered, so it does not follow .to(), and its parameters {{.*}} [device-unregistered-state]
        layers_(torch::nn::ReLU(), torch::nn::Linear(2, 3)) {
    scale_ = std::make_shared<ScaleImpl>(2.0);
    // CHECK: :[[@LINE+1]]:14: error: submodule 'noise_' of module 'NetImpl' is not registered, so train() and eval() do not reach it [device-unregistered-state]
    noise_ = std::make_shared<NoiseImpl>();
    // CHECK: :[[@LINE+1]]:13: error: submodule 'wrap_' {{.*}}, so train() and eval() do not reach it [device-unregistered-state]
    wrap_ = std::make_shared<WrapImpl>();
    // CHECK: :[[@LINE+1]]:15: error: submodule 'hidden_' {{.*}} does not follow .to(){{.*}} [device-unregistered-state]
    hidden_ = std::make_shared<HiddenImpl>();
    // CHECK: :[[@LINE+1]]:15: error: submodule 'buffer_' {{.*}} does not follow .to(){{.*}} [device-unregistered-state]
    buffer_ = std::make_shared<BufferImpl>();
    relus_.push_back(torch::nn::ReLU());
    // CHECK: :[[@LINE+1]]:12: error: the modules in 'drops_' of module 'NetImpl' are not registered, so train() and eval() do not reach them [device-unregistered-state]
    drops_.push_back(torch::nn::Dropout(0.5));
    // CHECK: :[[@LINE+1]]:15: error: submodule 'filled_' {{.*}} does not follow .to(){{.*}} [device-unregistered-state]
    filled_ = torch::nn::Sequential(torch::nn::ReLU());
    filled_->push_back(torch::nn::Linear(2, 3));
    // CHECK: :[[@LINE+1]]:12: error: submodule 'any_' {{.*}} does not follow .to(){{.*}} [device-unregistered-state]
    any_ = std::make_shared<BufferImpl>();
  }
  torch::nn::MaxPool2d pool_;
  torch::nn::ReLU relu_;
  torch::nn::Sequential activations_;
  torch::nn::Dropout drop_;
  torch::nn::Sequential layers_, filled_;
  std::shared_ptr<ScaleImpl> scale_;
  std::shared_ptr<NoiseImpl> noise_;
  std::shared_ptr<WrapImpl> wrap_;
  std::shared_ptr<HiddenImpl> hidden_;
  std::shared_ptr<BufferImpl> buffer_;
  std::shared_ptr<torch::nn::Module> any_;
  std::vector<torch::nn::ReLU> relus_;
  std::vector<torch::nn::Dropout> drops_;
};
