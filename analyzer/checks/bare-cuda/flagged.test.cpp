// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <memory>
#include <vector>

torch::Tensor lostIndex(const torch::Tensor &x) {
  auto host = x.cpu();
  // CHECK: :[[@LINE+1]]:25: warning: 'host.cumsum(0)' goes to the current cuda device, whichever device 'x' is on: use x.device() [device-bare-cuda]
  return host.cumsum(0).cuda();
}

torch::Tensor besideAnother(torch::Tensor x, torch::Tensor weight) {
  // CHECK: warning: 'x' goes to the current cuda device, whichever device 'weight' is on: use weight.device() [device-bare-cuda]
  return x.to(torch::kCUDA) * weight;
}

torch::Tensor onMps(torch::Tensor x, torch::Tensor weight) {
  // CHECK: warning: 'x' goes to the current mps device, whichever device 'weight' is on: use weight.device() [device-bare-cuda]
  return x.to(torch::kMPS) * weight;
}

torch::Tensor made(const torch::Tensor &x) {
  // CHECK: warning: 'torch::zeros({2}, torch::kCUDA)' is made on the current cuda device, whichever device 'x' is on: use x.device() [device-bare-cuda]
  auto zeros = torch::zeros({2}, torch::kCUDA);
  // CHECK: remedy: pass the device: `.device(x.device())` on the options
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: 'at::empty({2}, options)' is made on the current cuda device, whichever device 'x' is on: use x.device() [device-bare-cuda]
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: note: used here
  auto options = torch::TensorOptions().dtype(torch::kFloat).device(torch::kCUDA);
  auto empty = at::empty({2}, options);
  auto more = at::empty({3}, options);
  return x + zeros + empty + more;
}

torch::Tensor hardCoded(const torch::Tensor &x, torch::Device wanted) {
  // CHECK: warning: 'x' goes to the fixed device cuda:0, whichever device 'wanted' is on: use wanted [device-bare-cuda]
  auto a = x.to(torch::Device("cuda:0"));
  // CHECK: warning: 'torch::ones({2}, device)' is made on the fixed device cuda:1, whichever device 'wanted' is on: use wanted [device-bare-cuda]
  // CHECK: note: used here
  torch::Device device(torch::kCUDA, 1);
  return a + torch::ones({2}, device);
}

// A choice between the host and the current device drops the index too.
torch::Tensor choice(const torch::Tensor &x) {
  // CHECK: warning: 'torch::ones({2}, device)' is made on the current cuda device, whichever device 'x' is on: use x.device() [device-bare-cuda]
  // CHECK: note: used here
  torch::Device device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  return x + torch::ones({2}, device);
}

struct NetImpl : torch::nn::Module {
  NetImpl() : fc(register_module("fc", torch::nn::Linear(2, 2))) {}
  torch::Tensor forward(torch::Tensor x) {
    // CHECK: warning: 'x' goes to the current cuda device, whichever device the module's part 'fc' is on [device-bare-cuda]
    return fc->forward(x.cuda());
  }
  torch::nn::Linear fc;
};
TORCH_MODULE(Net);

torch::Tensor withModule(Net net, torch::Tensor x) {
  // CHECK: warning: 'x' goes to the current cuda device, whichever device the module 'net' is on [device-bare-cuda]
  return net->forward(x.cuda());
}

// The device that the function was given, as it may be.
torch::Tensor typed(const torch::Tensor &image, torch::DeviceType where) {
  // CHECK: warning: 'image' goes to the current cuda device, whichever device 'where' is on: use where [device-bare-cuda]
  return image.cuda();
}

// Tensors in a list or a structure.
torch::Tensor listed(const std::vector<torch::Tensor> &inputs) {
  // CHECK: warning: 'torch::zeros({3}, torch::kCUDA)' is made on the current cuda device, whichever device a tensor in 'inputs' is on [device-bare-cuda]
  return torch::zeros({3}, torch::kCUDA);
}
struct Engine {
  std::vector<torch::Tensor> buffers;
};
torch::Tensor owned(const std::shared_ptr<Engine> &engine) {
  // CHECK: warning: 'torch::zeros({3}, torch::kCUDA)' is made on {{.*}} a tensor of 'engine'{{.*}} [device-bare-cuda]
  return torch::zeros({3}, torch::kCUDA);
}

// An object that is made of a tensor.
class Table {
public:
  explicit Table(const torch::Tensor &keys) : size_(keys.size(0)) {}
  torch::Tensor keys() const {
    // CHECK: warning: 'torch::zeros({size_}, torch::kCUDA)' is made on {{.*}} the tensor that 'Table' is made of{{.*}} [device-bare-cuda]
    return torch::zeros({size_}, torch::kCUDA);
  }

private:
  int64_t size_;
};

// A GPU that nobody can choose.
class Recognizer {
public:
  explicit Recognizer(bool use_gpu) {
    if (use_gpu)
      // CHECK: :[[@LINE+1]]:31: warning: 'device_' is the fixed device cuda:0, whichever GPU the program is to use [device-bare-cuda]
      device_ = torch::Device("cuda:0");
      // CHECK: remedy: take the device as a parameter
    // CHECK: warning: 'model_' is put on the fixed device cuda:1, whichever GPU {{.*}} [device-bare-cuda]
    model_->to(torch::Device(torch::kCUDA, 1));
  }

private:
  torch::Device device_ = torch::kCPU;
  torch::nn::Linear model_{nullptr};
};
void start() {
  // CHECK: warning: 'device' is the fixed device cuda:0{{.*}} [device-bare-cuda]
  const torch::Device device(torch::kCUDA, 0);
}

// An enumerator that was set anew.
torch::Tensor chosenLater(torch::Tensor x, torch::Tensor weight) {
  auto type = torch::kCPU;
  type = torch::kCUDA;
  // CHECK: warning: 'x' goes to the current cuda device, whichever device 'weight' is on{{.*}} [device-bare-cuda]
  return x.to(type) * weight;
}

// The index beside the type.
torch::Tensor typeAndIndex(const torch::Tensor &x) {
  constexpr int kIndex = 1;
  // CHECK: warning: 'torch::ones({2}, torch::{{.*}}' is made on the fixed device cuda:0, whichever device 'x' is on{{.*}} [device-bare-cuda]
  auto a = torch::ones({2}, torch::TensorOptions().device(torch::kCUDA, 0));
  // CHECK: warning: 'torch::ones({2}, torch::{{.*}}' is made on the fixed device cuda:1, whichever device 'x' is on{{.*}} [device-bare-cuda]
  auto b = torch::ones({2}, torch::TensorOptions().device(torch::kCUDA, kIndex));
  return x + a + b;
}
