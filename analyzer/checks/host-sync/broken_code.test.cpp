// Code that does not compile is analysed as far as it goes.
// RUN: not %check_mock | %file_check
// CHECK: warning: 'x.item<double>()' makes {{.*}} [device-host-sync]
// CHECK: parsed in part
#include <torch/torch.h>

double train(torch::Tensor x) {
  torch::Device device(torch::kCUDA);
  MissingNet model(1, 2, 3);
  model->to(device);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1));
  for (auto &batch : *missing_loader) {
    auto data = batch.data.view({1, -1}).to(device);
    auto loss = torch::mean(model->forward(data));
    double value = loss.item<double>();
  }
  double total = 0;
  while (total < 10)
    total += x.item<double>();
  return missing(x).to(device);
}
