// Starts from a head that an earlier run saved, on top of a fresh backbone.
#include <filesystem>
#include <iostream>
#include <string>

#include <torch/torch.h>
#include <unistd.h>

namespace {

struct ClassifierImpl : torch::nn::Module {
  ClassifierImpl()
      : backbone(register_module(
            "backbone", torch::nn::Sequential(torch::nn::Linear(16, 32), torch::nn::ReLU()))),
        head(register_module("head", torch::nn::Linear(32, 10))) {}

  torch::Tensor forward(const torch::Tensor &x) { return head->forward(backbone->forward(x)); }

  torch::nn::Sequential backbone;
  torch::nn::Linear head;
};
TORCH_MODULE(Classifier);

// Stands for the earlier run, which had no GPU.
void writeHead(const std::string &path) {
  torch::nn::Linear head(32, 10);
  torch::save(head, path);
}

void resume(const std::string &head_path, const torch::Device &device) {
  Classifier model;
  model->to(device);
  torch::load(model->head, head_path);

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
  std::cout << "loss after resuming: " << loss.item<float>() << "\n";
}

} // namespace

int main(int argc, char **argv) {
  const torch::Device device(argc > 1 ? argv[1] : "cuda:1");
  torch::manual_seed(0);
  const auto path =
      std::filesystem::temp_directory_path() / ("head-" + std::to_string(getpid()) + ".pt");
  int status = 0;
  try {
    writeHead(path.string());
    resume(path.string(), device);
  } catch (const c10::Error &error) {
    std::cerr << error.what_without_backtrace() << "\n";
    status = 1;
  }
  std::filesystem::remove(path);
  return status;
}
