// Files with missing headers: a method whose parameter has an unknown type is no redeclaration of what its class declares,
// and still does what it does.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include "not_there.h"

struct ScheduleImpl : torch::nn::Module {
  ScheduleImpl(missing::Settings &settings, torch::Device device);
  torch::Tensor forward(torch::Tensor x) { return x * weights_ + kept_ + moved_; }
  torch::Tensor weights_, kept_, moved_;
};
ScheduleImpl::ScheduleImpl(missing::Settings &settings, torch::Device device) {
  // CHECK: :[[@LINE+1]]:37: error: tensor member 'weights_' of module 'ScheduleImpl' {{.*}} [device-unregistered-state]
  this->weights_ = torch::ones({8}).to(device);
  this->kept_ = register_buffer("kept", torch::ones({8}));
}

// The unknown parts may register a member, or take it along.
struct RegisteredImpl : torch::nn::Module {
  RegisteredImpl(missing::Settings &settings, torch::Device device);
  void follow(missing::Settings &settings);
  torch::Tensor forward(torch::Tensor x) { return x * weights_ + offsets_; }
  torch::Tensor weights_, offsets_;
};
RegisteredImpl::RegisteredImpl(missing::Settings &settings, torch::Device device) {
  weights_ = torch::ones({8}).to(device);
  weights_ = register_buffer("weights", settings.scaled(weights_));
  offsets_ = torch::ones({8}).to(device);
}
void RegisteredImpl::follow(missing::Settings &settings) {
  offsets_ = settings.place(offsets_);
}

// What it calls to make its state is known no better.
struct ElsewhereImpl : torch::nn::Module {
  ElsewhereImpl(missing::Settings &settings);
  void build();
  torch::Tensor forward(torch::Tensor x) { return x * weights_; }
  torch::Tensor weights_;
};
ElsewhereImpl::ElsewhereImpl(missing::Settings &settings) {
  weights_ = torch::ones({8});
  build();
}
