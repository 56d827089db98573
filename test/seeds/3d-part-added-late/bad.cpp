// Puts a new classification layer on top of a pre-trained feature extractor.
#include <iostream>

#include <torch/torch.h>

namespace {

torch::nn::Sequential makeExtractor() {
  return torch::nn::Sequential(torch::nn::Linear(16, 64), torch::nn::BatchNorm1d(64),
                               torch::nn::ReLU(), torch::nn::Linear(64, 32), torch::nn::ReLU());
}

void train(const torch::Device &device) {
  auto model = makeExtractor();
  model->to(device);
  model->push_back("classifier", torch::nn::Linear(32, 10));

  torch::optim::SGD optimizer(model->parameters(), 0.1);
  const auto inputs = torch::randn({64, 16}, torch::TensorOptions().device(device));
  const auto labels = torch::randint(0, 10, {64}, torch::dtype(torch::kLong).device(device));

  torch::Tensor loss;
  for (int step = 0; step < 10; ++step) {
    loss = torch::nn::functional::cross_entropy(model->forward(inputs), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  std::cout << "loss after training: " << loss.item<float>() << "\n";
}

} // namespace

int main(int argc, char **argv) {
  const torch::Device device(argc > 1 ? argv[1] : "cuda:1");
  torch::manual_seed(0);
  try {
    train(device);
  } catch (const c10::Error &error) {
    std::cerr << error.what_without_backtrace() << "\n";
    return 1;
  }
}
