// Fine-tunes a classifier of a hundred classes for ten new ones.
#include <iostream>

#include <torch/torch.h>

namespace {

struct ClassifierImpl : torch::nn::Module {
  explicit ClassifierImpl(int64_t num_classes)
      : backbone(register_module(
            "backbone", torch::nn::Sequential(torch::nn::Linear(16, 64), torch::nn::ReLU(),
                                              torch::nn::Linear(64, 32), torch::nn::ReLU()))),
        head(register_module("head", torch::nn::Linear(32, num_classes))) {}

  torch::Tensor forward(const torch::Tensor &x) { return head->forward(backbone->forward(x)); }

  torch::nn::Sequential backbone;
  torch::nn::Linear head;
};
TORCH_MODULE(Classifier);

void fineTune(const torch::Device &device) {
  Classifier model(100);
  model->to(device);

  for (auto &parameter : model->backbone->parameters()) {
    parameter.set_requires_grad(false);
  }
  model->head = model->replace_module("head", torch::nn::Linear(32, 10));

  torch::optim::SGD optimizer(model->head->parameters(), 0.1);
  const auto inputs = torch::randn({64, 16}, torch::TensorOptions().device(device));
  const auto labels = torch::randint(0, 10, {64}, torch::dtype(torch::kLong).device(device));

  torch::Tensor loss;
  for (int step = 0; step < 10; ++step) {
    loss = torch::nn::functional::cross_entropy(model->forward(inputs), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  std::cout << "loss after fine-tuning: " << loss.item<float>() << "\n";
}

} // namespace

int main(int argc, char **argv) {
  const torch::Device device(argc > 1 ? argv[1] : "cuda:1");
  torch::manual_seed(0);
  try {
    fineTune(device);
  } catch (const c10::Error &error) {
    std::cerr << error.what_without_backtrace() << "\n";
    return 1;
  }
}
