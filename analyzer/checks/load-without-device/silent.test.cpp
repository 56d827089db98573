// RUN: %check_mock | %file_check --allow-empty
#include <torch/script.h>
#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) { return fc->forward(x); }
  void place(torch::Device device) { to(device); }
  torch::nn::Linear fc{8, 8};
};
TORCH_MODULE(Net);

struct Trainer {
  Trainer(Net net, torch::Device device);
  Net net;
};
void prepare(Net net, torch::Device device);
void prepare(torch::jit::Module &script, torch::Device device);
std::optional<torch::Device> chosen();

// No device is known, or it is the CPU's.
torch::jit::Module noDevice(const std::string &path, torch::Tensor x) {
  auto script = torch::jit::load(path);
  script.forward({x});
  return script;
}
torch::Tensor host(torch::Tensor x) {
  torch::Device device(torch::kCPU);
  Net model;
  torch::load(model, "net.pt");
  return model->forward(torch::ones({2, 8}, device));
}
void hostBranch(Net model, torch::Tensor x, torch::Device device) {
  if (device.is_cpu()) {
    torch::load(model, "net.pt");
    model->forward(torch::ones({2, 8}, device));
  }
}

// The load passes the device.
torch::jit::Module given(const std::string &path, torch::Device device) {
  Net model;
  torch::load(model, path, device);
  model->forward(torch::ones({2, 8}, device));
  torch::Tensor weights;
  torch::load(weights, path, torch::kCUDA);
  auto sum = weights + torch::ones({2, 8}, device);
  std::optional<torch::Device> map = chosen();
  auto mapped = torch::jit::load(path, map);
  mapped.forward({torch::ones({2, 8}, device)});
  return torch::jit::load(path, device);
}

// Moved before it is used, on any path.
torch::jit::Module moved(const std::string &path, torch::Device device, bool cuda) {
  Net model;
  torch::load(model, path);
  model->to(device);
  model->forward(torch::ones({2, 8}, device));
  torch::Tensor weights, sums;
  torch::load(weights, path);
  auto sum = (weights * 2).to(device) + torch::ones({2, 8}, device);
  std::vector<torch::Tensor> all;
  torch::load(all, path);
  for (const auto &one : all)
    sum = sum + one.to(device);
  auto script = torch::jit::load(path);
  if (cuda)
    script.to(device);
  script.forward({sum});
  return script;
}
torch::Tensor pickled(const std::vector<char> &bytes, torch::Device device) {
  return torch::pickle_load(bytes).toTensor().to(device);
}
void wholeMoved(torch::Device device) {
  Net model;
  torch::load(model->fc, "head.pt");
  model->to(device);
  model->fc->forward(torch::ones({2, 8}, device));
}
void wholeOnOnePath(torch::Device device, bool cuda) {
  Net model;
  torch::load(model->fc, "head.pt");
  if (cuda)
    model->to(device);
  model->fc->forward(torch::ones({2, 8}, device));
}
void asAPart(torch::Device device) {
  Net head;
  torch::load(head, "head.pt");
  torch::nn::Sequential layers;
  layers->push_back(head);
  layers->to(device);
  head->forward(torch::ones({2, 8}, device));
}
void copied(Net model, torch::Device device) {
  auto state = torch::zeros({8}, device);
  torch::Tensor saved;
  torch::load(saved, "state.pt");
  state.copy_(saved);
}

// Parts of a module that was moved: device-module-replaced-after-to reports them.
struct WithScriptImpl : torch::nn::Module {
  torch::nn::Linear fc{8, 8};
  torch::jit::Module backbone;
};
TORCH_MODULE(WithScript);
void parts(torch::Device device) {
  auto x = torch::ones({2, 8}, device);
  WithScript model;
  model->to(device);
  torch::load(model->fc, "head.pt");
  model->fc->forward(x);
  model->backbone = torch::jit::load("backbone.pt");
  model->backbone.forward({x});
}
void partByName(torch::Device device) {
  WithScript model;
  model->to(device);
  auto backbone = torch::jit::load("backbone.pt");
  model->backbone = backbone;
  backbone.forward({torch::ones({2, 8}, device)});
}
void wholeLoaded(torch::Device device) {
  Net model;
  model->to(device);
  torch::load(model, "net.pt");
  model->forward(torch::ones({2, 8}, device));
}

// Somebody else may have moved it.
void handedOn(torch::Device device) {
  auto x = torch::ones({2, 8}, device);
  Net a, b, c;
  torch::load(a, "a.pt");
  prepare(a, device);
  a->forward(x);
  torch::load(b, "b.pt");
  b->place(device);
  b->forward(x);
  torch::load(c, "c.pt");
  Trainer trainer(c, device);
  c->forward(x);
  auto script = torch::jit::load("d.pt");
  prepare(script, device);
  script.forward({x});
}
void neverUsed(Net model, torch::Device device) {
  torch::load(model, "net.pt");
  auto x = torch::ones({2, 8}, device);
}

// It runs on the host, beside what runs on the device.
torch::Tensor onHost(torch::Tensor x, torch::Device device) {
  Net teacher;
  torch::load(teacher, "teacher.pt");
  auto y = teacher->forward(x.cpu());
  auto tokenizer = torch::jit::load("tokenizer.pt");
  std::vector<torch::jit::IValue> inputs;
  inputs.push_back(torch::ones({2, 8}));
  tokenizer.forward(inputs);
  return y.to(device);
}
