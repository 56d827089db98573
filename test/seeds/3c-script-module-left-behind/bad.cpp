// Trains a classifier on the features of an exported TorchScript embedder.
#include <filesystem>
#include <iostream>
#include <string>

#include <torch/script.h>
#include <torch/torch.h>
#include <unistd.h>

namespace {

// Stands for the export step, which runs on a build machine.
void exportEmbedder(const std::string &path) {
  torch::jit::Module embedder("Embedder");
  embedder.register_parameter("weight", torch::randn({32, 16}), /*is_buffer=*/false);
  embedder.define(
      "def forward(self, x):\n    return torch.relu(torch.matmul(x, self.weight.t()))\n");
  embedder.save(path);
}

void train(const std::string &embedder_path, const torch::Device &device) {
  auto embedder = torch::jit::load(embedder_path);
  embedder.eval();
  torch::nn::Linear model(32, 10);
  model->to(device);

  torch::optim::SGD optimizer(model->parameters(), 0.1);
  const auto inputs = torch::randn({64, 16}, torch::TensorOptions().device(device));
  const auto labels = torch::randint(0, 10, {64}, torch::dtype(torch::kLong).device(device));

  torch::Tensor loss;
  for (int step = 0; step < 10; ++step) {
    const auto features = embedder.forward({inputs}).toTensor().detach();
    loss = torch::nn::functional::cross_entropy(model->forward(features), labels);
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
  const auto path =
      std::filesystem::temp_directory_path() / ("embedder-" + std::to_string(getpid()) + ".pt");
  int status = 0;
  try {
    exportEmbedder(path.string());
    train(path.string(), device);
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    status = 1;
  }
  std::filesystem::remove(path);
  return status;
}
