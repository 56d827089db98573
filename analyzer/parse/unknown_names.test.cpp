// What a missing header would have declared has no meaning, and the code around it keeps its own:
// bodies of loops, arguments of calls, and what is computed from a batch of unknown type.
// RUN: not %check_mock --checks=device-host-sync | %file_check
#include <torch/torch.h>

#include "not_there.h"

double loops(torch::Tensor y, Loader &given, const missing::Config &config) {
  double total = 0;
  for (auto &batch : given)
    // CHECK: :[[@LINE+1]]:22: warning: 'y.sum().item<double>()' {{.*}} [device-host-sync]
    total += y.sum().item<double>();
  for (auto &batch : *nowhere)
    // CHECK: :[[@LINE+1]]:22: warning: 'y.max().item<double>()' {{.*}} [device-host-sync]
    total += y.max().item<double>();
  for (const auto &[data, target] : missing::load("x"))
    // CHECK: :[[@LINE+1]]:22: warning: 'y.min().item<double>()' {{.*}} [device-host-sync]
    total += y.min().item<double>();
  return total;
}

double arguments(torch::Tensor y) {
  double total = 0;
  Logger logger("train");
  missing::Logger other{"train"};
  for (int i = 0; i < 3; ++i) {
    // CHECK: :[[@LINE+1]]:34: warning: 'y.sum().item<double>()' {{.*}} [device-host-sync]
    missing::log("loss", y.sum().item<double>());
    // CHECK: :[[@LINE+1]]:33: warning: 'y.max().item<double>()' {{.*}} [device-host-sync]
    logger.add({"loss", y.max().item<double>()});
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.min().item<double>()' {{.*}} [device-host-sync]
    auto shown = other.show(y.min().item<double>());
  }
  return total;
}

double train(torch::nn::Linear model, torch::Device device) {
  double total = 0;
  auto loader = missing::makeLoader("data");
  for (auto &batch : *loader) {
    auto data = batch.data.to(device);
    auto loss = torch::nn::functional::mse_loss(model->forward(data), batch.target.to(device));
    // CHECK: :[[@LINE+1]]:19: warning: 'loss.cpu()' copies from the device{{.*}} [device-host-sync]
    total += loss.cpu().item<double>() + batch.target.item<double>();
    // CHECK: :[[@LINE+1]]:19: warning: 'loss.item<double>()' {{.*}} [device-host-sync]
    total += loss.item<double>();
  }
  for (auto &batch : *loader) {
    auto output = model->forward(batch.data.to(device));
    // CHECK: :[[@LINE+1]]:27: warning: 'output.sum().item()' {{.*}} [device-host-sync]
    total += output.sum().item().toDouble();
  }
  return total;
}
