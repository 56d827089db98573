// RUN: %check_mock | %file_check --allow-empty
#include <torch/script.h>
#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
  NetImpl() : fc(register_module("fc", torch::nn::Linear(8, 8))) {}
  torch::Tensor forward(torch::Tensor x) { return fc->forward(x); }
  void replaceHead(int64_t classes, torch::Device device) {
    fc = replace_module("fc", torch::nn::Linear(8, classes));
    fc->to(device);
  }
  torch::nn::Linear fc;
};
TORCH_MODULE(Net);

torch::nn::Linear makeHead(torch::Device device);

// The order is right.
void before(torch::Device device) {
  Net model;
  model->fc = model->replace_module("fc", torch::nn::Linear(8, 10));
  model->to(device);
}

// The part, or the whole, is moved afterwards.
void afterwards(torch::Device device) {
  Net model;
  model->to(device);
  model->fc = torch::nn::Linear(8, 10);
  model->fc->to(device);
  model->register_module("aux", torch::nn::Linear(8, 10));
  model->to(device);
  model->replaceHead(4, device);
}
void wholeOnOnePath(torch::Device device, bool cuda) {
  Net model;
  model->to(device);
  model->fc = torch::nn::Linear(8, 10);
  if (cuda)
    model->to(device);
}

// The part was moved before it was put in.
void partFirst(torch::Device device) {
  Net model;
  model->to(device);
  torch::nn::Linear head(8, 10);
  head->to(device);
  model->fc = model->replace_module("fc", head);
  model->fc = makeHead(device);
}

// Never moved, moved to the host, or only converted.
void neverMoved() {
  Net model;
  model->fc = torch::nn::Linear(8, 10);
}
void converted() {
  Net model;
  model->to(torch::kDouble);
  model->to(torch::kCPU);
  model->fc = torch::nn::Linear(8, 10);
}

// Another module.
void other(torch::Device device) {
  Net model, teacher;
  model->to(device);
  teacher->fc = torch::nn::Linear(8, 10);
}

void loaded(torch::Device device) {
  Net model;
  torch::load(model, "all.pt");
  model->to(device);
  torch::load(model->fc, "head.pt", device);
  auto script = torch::jit::load("model.pt", device);
  script.to(device);
}

void container(torch::Device device) {
  torch::nn::Sequential layers;
  for (int i = 0; i < 3; ++i)
    layers->push_back(torch::nn::Linear(8, 8));
  layers->to(device);
}
