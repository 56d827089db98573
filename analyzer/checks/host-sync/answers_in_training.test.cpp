// In a file that trains, a copy is the last of an inference only where it is seen to be one.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <vector>

void show(torch::Tensor answer);

void train(torch::nn::Linear model, torch::optim::SGD &optimizer, const std::vector<torch::Tensor> &batches) {
  for (const auto &batch : batches) {
    auto loss = model->forward(batch.to(torch::kCUDA)).sum();
    loss.backward();
    optimizer.step();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'loss.to(torch::kCPU)' copies {{.*}} [device-host-sync]
    show(loss.to(torch::kCPU));
  }
}

void unknown(torch::nn::Linear model, const std::vector<torch::Tensor> &images) {
  for (const auto &image : images)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'model->forward(image.to(torch::kCUDA)).cpu()' copies {{.*}} [device-host-sync]
    show(model->forward(image.to(torch::kCUDA)).cpu());
}

void evaluate(torch::nn::Linear model, const std::vector<torch::Tensor> &images) {
  for (const auto &image : images) {
    model->eval();
    auto output = model->forward(image.to(torch::kCUDA));
    show(output.cpu());
  }
  for (const auto &image : images) {
    torch::NoGradGuard no_grad;
    auto output = model->forward(image.to(torch::kCUDA));
    show(output.cpu());
  }
}
