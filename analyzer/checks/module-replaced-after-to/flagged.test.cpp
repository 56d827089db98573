// RUN: not %check_mock | %file_check
#include <torch/script.h>
#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
  NetImpl() : fc(register_module("fc", torch::nn::Linear(8, 8))) {}
  torch::Tensor forward(torch::Tensor x) { return fc->forward(x); }
  void replaceHead(int64_t classes) {
    fc = replace_module("fc", torch::nn::Linear(8, classes));
  }
  torch::nn::Linear fc;
};
TORCH_MODULE(Net);

void assigned(torch::Device device) {
  Net model;
  model->to(device);
  // CHECK: :[[@LINE+1]]:15: error: 'torch::nn::Linear(8, 10)' adds a part on the CPU to 'model', which was moved on line [[@LINE-1]]: 'model' is on two devices now; call .to(device) on the new part, or on 'model' afterwards [device-module-replaced-after-to]
  model->fc = torch::nn::Linear(8, 10);
  auto y = model->forward(torch::ones({2, 8}, device));
}

void registered() {
  Net model;
  model->to(torch::kMPS);
  // CHECK: :[[@LINE+1]]:21: error: 'model->register_module("aux", torch::nn::Linear(8, 10))' adds a part on the CPU to 'model', {{.*}} [device-module-replaced-after-to]
  auto aux = model->register_module("aux", torch::nn::Linear(8, 10));
}

void replaced(Net model) {
  model->to(torch::kCUDA);
  torch::nn::Linear head(8, 10);
  // CHECK: :[[@LINE+1]]:22: error: 'model->replace_module("fc", head)' adds a part {{.*}} [device-module-replaced-after-to]
  model->fc = model->replace_module("fc", head);
}

void pushed(torch::Device device) {
  torch::nn::Sequential layers(torch::nn::Linear(8, 8), torch::nn::ReLU());
  layers->to(device);
  // CHECK: :[[@LINE+1]]:11: error: 'layers->push_back(torch::nn::Linear(8, 2))' adds a part {{.*}} [device-module-replaced-after-to]
  layers->push_back(torch::nn::Linear(8, 2));
}

void byMember(torch::Device device) {
  Net model;
  model->to(device);
  // CHECK: :[[@LINE+2]]:10: error: 'model->replaceHead(10)' replaces a part of 'model', which was moved on line [[@LINE-1]], and leaves the new part on the CPU: call .to(device) on it [device-module-replaced-after-to]
  // CHECK: :9:10: note: the part is replaced here
  model->replaceHead(10);
}

void newHead(Net net) { net->fc = torch::nn::Linear(8, 3); }
void byFunction(torch::Device device) {
  Net model;
  model->to(device);
  // CHECK: :[[@LINE+1]]:3: error: 'newHead(model)' replaces a part of 'model', {{.*}} [device-module-replaced-after-to]
  newHead(model);
}

void loaded(torch::Device device) {
  Net model;
  model->to(device);
  // CHECK: :[[@LINE+1]]:3: error: 'torch::load(model->fc, "head.pt")' puts parameters on the device they were saved on, after 'model' was moved on line [[@LINE-1]]: pass the device to load(), or call .to(device) afterwards [device-module-replaced-after-to]
  torch::load(model->fc, "head.pt");
}

struct EnsembleImpl : torch::nn::Module {
  explicit EnsembleImpl(torch::Device device) {
    to(device);
    // CHECK: :[[@LINE+1]]:12: error: 'register_module("late", torch::nn::Linear(2, 2))' adds a part on the CPU to '*this', {{.*}} [device-module-replaced-after-to]
    late = register_module("late", torch::nn::Linear(2, 2));
  }
  torch::nn::Linear late{nullptr};
};

struct WithScriptImpl : torch::nn::Module {
  torch::jit::Module backbone;
};
TORCH_MODULE(WithScript);
void script(torch::Device device) {
  WithScript model;
  model->to(device);
  // CHECK: :[[@LINE+1]]:21: error: 'torch::jit::load("backbone.pt")' puts parameters on the device they were saved on, after 'model' was moved {{.*}} [device-module-replaced-after-to]
  model->backbone = torch::jit::load("backbone.pt");
}
