// What is no step of a program: an evaluation, an error that is told, a measurement, the making of an object.
// RUN: not %check_mock | %file_check
#include <cassert>
#include <chrono>
#include <stdexcept>
#include <torch/torch.h>

void train(torch::data::DataLoader &loader, torch::nn::Linear model, torch::Device device) {
  model->train();
  for (auto &batch : loader) {
    auto loss = model->forward(batch.data.to(device)).sum();
    loss.backward();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'loss.item<double>()' makes {{.*}} (in a loop) [device-host-sync]
    double shown = loss.item<double>();
  }
}
double evaluate(torch::data::DataLoader &loader, torch::nn::Linear model, torch::Device device) {
  double total = 0;
  model->eval();
  for (auto &batch : loader)
    total += model->forward(batch.data.to(device)).sum().item<double>();
  model->train();
  for (auto &batch : loader)
    // CHECK: :[[@LINE+1]]:58: warning: 'model->forward(batch.data.to(device)).sum().item<double>()' makes {{.*}} [device-host-sync]
    total += model->forward(batch.data.to(device)).sum().item<double>();
  return total;
}
double test(torch::data::DataLoader &loader, torch::nn::Linear model, torch::Device device) {
  double total = 0;
  torch::NoGradGuard no_grad;
  for (auto &batch : loader)
    total += model->forward(batch.data.to(device)).sum().item<double>();
  return total;
}

struct CheckedImpl : torch::nn::Module {
  CheckedImpl() {
    for (int i = 0; i < 3; ++i)
      scale_ += torch::ones({3}, torch::kCUDA).sum().item<double>();
  }
  torch::Tensor forward(torch::Tensor x) {
    assert(x.sum().item<double>() > 0);
    if (x.size(0) == 0)
      throw std::runtime_error(std::to_string(x.max().item<double>()));
    if (x.size(0) == 1) {
      auto shown = x.max().item<double>();
      throw std::runtime_error(std::to_string(shown));
    }
    return x * scale_;
  }
  double scale_ = 0;
};

// Synchronised to be measured.
double measured(torch::nn::Linear model, torch::Tensor x, bool on_device) {
  double seconds = 0;
  x = x.cuda();
  for (int i = 0; i < 3; ++i) {
    if (on_device)
      torch::cuda::synchronize();
    auto start = std::chrono::steady_clock::now();
    x = model->forward(x);
    torch::cuda::synchronize();
    auto end = std::chrono::steady_clock::now();
    seconds += std::chrono::duration<double>(end - start).count();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'torch::cuda::synchronize()' makes {{.*}} [device-host-sync]
    torch::cuda::synchronize();
    x = model->forward(x);
  }
  return seconds;
}

// One copy would read all of them; what a macro does, it does everywhere.
#define SUM_OF(x) ((x).sum().item<double>())
struct Box {
  double left, top, right;
};
double boxes(torch::Tensor found, std::vector<torch::Tensor> lists) {
  found = found.cuda();
  double total = 0;
  for (int i = 0; i < 3; ++i) {
    Box box;
    // CHECK: :[[@LINE+1]]:28: warning: 'found[i][0].item<double>()' makes {{.*}} [device-host-sync]
    box.left = found[i][0].item<double>();
    box.top = found[i][1].item<double>();
    box.right = found.index({i}).item<double>();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: {{.*}} makes the host wait for the device on every step (in a loop) [device-host-sync]
    total += SUM_OF(found) + box.left;
    total += SUM_OF(found * 2);
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'found.max().item<double>()' makes {{.*}} [device-host-sync]
    total += found.max().item<double>();
    auto loss = found.sum();
    // CHECK: :[[@LINE+1]]:19: warning: 'loss.item<double>()' makes {{.*}} [device-host-sync]
    total += loss.item<double>();
    std::to_string(loss.item<double>());
  }
  return total;
}

// What a step makes runs its constructor on every step; what the program makes once does not.
struct Bounds {
  explicit Bounds(const at::Tensor &vectors) {
    for (int i = 0; i < 3; ++i)
      size[i] = vectors[i].item<float>();
    // CHECK: :[[@LINE-1]]:28: warning: {{.*}} makes the host wait for the device on every step (in 'Bounds', which 'forward' calls) [device-host-sync]
  }
  float size[3];
};

struct Once {
  explicit Once(const at::Tensor &vectors) { size = vectors.item<float>(); }
  float size;
};

struct Cell : torch::nn::Module {
  explicit Cell(at::Tensor x) : once(x.cuda()) {}
  at::Tensor forward(at::Tensor x) {
    const Bounds bounds(x.cuda());
    return x * bounds.size[0] * once.size;
  }
  Once once;
};

// What is made once may be called on every step.
struct Keeping : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    static const auto sumOf = [](torch::Tensor y) {
      return y.cuda().sum().item<float>();
      // CHECK: :[[@LINE-1]]:29: warning: {{.*}} on every step (in 'forward') [device-host-sync]
    };
    static const float first = [&] { return x.cuda().sum().item<float>(); }();
    return x * sumOf(x) * first;
  }
};
