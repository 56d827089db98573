// RUN: not %check_mock | %file_check
#include <torch/script.h>
#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) { return fc->forward(x); }
  torch::nn::Linear fc{8, 8};
};
TORCH_MODULE(Net);

void script(const std::string &path, const torch::Device &device) {
  // CHECK: :[[@LINE+2]]:19: warning: what 'torch::jit::load(path)' reads keeps the device it was saved from and is used without being moved: pass the device, 'torch::jit::load(path, device)', or call .to(device) on it [device-load-without-device]
  // CHECK: :[[@LINE+5]]:12: note: it is used here
  auto embedder = torch::jit::load(path);
  embedder.eval();
  torch::nn::Linear model(32, 10);
  model->to(device);
  embedder.forward({torch::ones({2, 8}, device)});
}

void module(torch::Device device) {
  Net model;
  // CHECK: :[[@LINE+1]]:3: warning: what 'torch::load(model, "net.pt")' reads {{.*}} is used {{.*}} 'torch::load(model, "net.pt", device)', {{.*}} [device-load-without-device]
  torch::load(model, "net.pt");
  // CHECK: :[[@LINE+1]]:19: note: it is used here
  auto y = model->forward(torch::ones({2, 8}, device));
}

void onOnePath(Net model, bool resume, torch::Device where) {
  if (resume)
    // CHECK: :[[@LINE+1]]:5: warning: what 'torch::load(model, "net.pt")' reads {{.*}} 'torch::load(model, "net.pt", where)', or call .to(where) on it [device-load-without-device]
    torch::load(model, "net.pt");
  // CHECK: :[[@LINE+1]]:10: note: it is used here
  model->forward(torch::ones({2, 8}, where));
}

torch::jit::Module returned(const std::string &path, torch::Device device) {
  auto warm = torch::ones({2, 8}, device);
  // CHECK: :[[@LINE+1]]:10: warning: what 'torch::jit::load(path)' reads {{.*}} is returned without being moved: {{.*}} [device-load-without-device]
  return torch::jit::load(path);
}

torch::Tensor tensor(const torch::Tensor &x, torch::Device device) {
  torch::Tensor weights;
  // CHECK: :[[@LINE+1]]:3: warning: what 'torch::load(weights, "w.pt")' reads {{.*}} [device-load-without-device]
  torch::load(weights, "w.pt");
  // CHECK: :[[@LINE+1]]:10: note: it is used here
  return x.to(device) * weights;
}

// Where the device comes from several places there is no one name to propose.
void twoDevices(std::istream &in, torch::Device first, torch::Device second) {
  Net a, b;
  a->to(first);
  b->to(second);
  // CHECK: :[[@LINE+1]]:17: warning: what 'torch::jit::load(in)' reads {{.*}}: pass the device to torch::jit::load(), or call .to(device) on it [device-load-without-device]
  auto script = torch::jit::load(in);
  // CHECK: :[[@LINE+1]]:10: note: it is used here
  script.forward({torch::ones({2, 8}, first)});
}

void noDeviceGiven(std::shared_ptr<torch::jit::CompilationUnit> unit, torch::Device device) {
  // CHECK: :[[@LINE+1]]:17: warning: what 'torch::jit::import_ir_module(unit, "net.pt", std::nullopt)' reads {{.*}}: pass the device to torch::jit::import_ir_module(), {{.*}} [device-load-without-device]
  auto script = torch::jit::import_ir_module(unit, "net.pt", std::nullopt);
  // CHECK: :[[@LINE+1]]:10: note: it is used here
  script.forward({torch::ones({2, 8}, device)});
}

torch::Tensor pickled(const std::vector<char> &bytes, const torch::Tensor &x) {
  auto y = x.to(torch::kMPS);
  // CHECK: :[[@LINE+1]]:18: warning: what 'torch::pickle_load(bytes)' reads {{.*}} is used without being moved: call .to(device) on it [device-load-without-device]
  auto weights = torch::pickle_load(bytes).toTensor();
  // CHECK: :[[@LINE+1]]:10: note: it is used here
  return y + weights;
}

void longCall(const std::string &path, torch::Device device) {
  // CHECK: :[[@LINE+1]]:17: warning: what 'torch::jit::load(path + {{.*}}…' reads {{.*}}: pass the device to torch::jit::load(), or call .to(device) on it [device-load-without-device]
  auto script = torch::jit::load(path + "/a/folder/with/a/name/that/is/rather/long/net.pt");
  // CHECK: :[[@LINE+1]]:10: note: it is used here
  script.forward({torch::ones({2, 8}, device)});
}

void anotherIsMoved(torch::Device device) {
  auto encoder = torch::jit::load("encoder.pt");
  encoder.to(device);
  // CHECK: :[[@LINE+1]]:18: warning: what 'torch::jit::load("decoder.pt")' reads {{.*}} [device-load-without-device]
  auto decoder = torch::jit::load("decoder.pt");
  // CHECK: :[[@LINE+1]]:11: note: it is used here
  decoder.forward({encoder.forward({torch::ones({2, 8}, device)})});
}
