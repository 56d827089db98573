// Where data come from: what a DataLoader gives is on the CPU until it is moved, and so is what callers hand in from there.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

struct Net {
  torch::Tensor forward(torch::Tensor x);
};

double onHost(torch::data::DataLoader &loader, torch::nn::Linear model) {
  double total = 0;
  for (auto &batch : loader) {
    auto images = batch.data.to(torch::kCPU);
    auto loss = torch::nn::functional::mse_loss(model->forward(images), batch.target);
    total += loss.item<double>() + batch.target[0].item<double>();
  }
  return total;
}
double onDevice(torch::data::DataLoader &loader, torch::nn::Linear model, torch::Device device) {
  double total = 0;
  for (auto &batch : loader) {
    auto target = batch.target.to(device);
    auto loss = torch::nn::functional::mse_loss(model->forward(batch.data.to(device)), target);
    // CHECK: :[[@LINE+1]]:19: warning: 'loss.item<double>()' makes {{.*}} (in a loop) [device-host-sync]
    total += loss.item<double>();
    // CHECK: :[[@LINE+1]]:27: warning: 'target.sum().item<double>()' makes {{.*}} [device-host-sync]
    total += target.sum().item<double>();
  }
  return total;
}

// Of a helper the callers know.
double sumOf(const torch::Tensor &row) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    total += row[i].item<double>();
  return total;
}
double shared(const torch::Tensor &row) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    // CHECK: :[[@LINE+1]]:21: warning: 'row[i].item<double>()' makes {{.*}} [device-host-sync]
    total += row[i].item<double>();
  return total;
}
double callers(torch::Tensor x) { return sumOf(x.cpu()) + sumOf(torch::ones({3})) + shared(x.cpu()) + shared(x.cuda()); }
