// Trains a small classifier and logs its accuracy per class, averaged, at every step.
#include <iostream>
#include <vector>

#include <devsan/devsan.h>
#include <torch/torch.h>

namespace {

// A class without samples is divided by one and filled in afterwards: the fill value travels as a
// kernel argument, and the gradient of the unused quotient stays finite.
torch::Tensor safeDivide(const torch::Tensor &num, const torch::Tensor &denom,
                         double zero_division = 0.0) {
  const auto empty = denom == 0;
  return (num / denom.masked_fill(empty, 1)).masked_fill(empty, zero_division);
}

class Accuracy {
public:
  explicit Accuracy(int64_t num_classes) : num_classes_(num_classes) {}

  torch::Tensor update(const torch::Tensor &logits, const torch::Tensor &target) {
    const auto correct = (logits.argmax(1) == target).to(torch::kFloat);
    const auto options = torch::dtype(torch::kFloat).device(target.device());
    const auto hits = torch::zeros({num_classes_}, options).scatter_add_(0, target, correct);
    const auto seen =
        torch::zeros({num_classes_}, options).scatter_add_(0, target, torch::ones_like(correct));
    return safeDivide(hits, seen).mean();
  }

private:
  int64_t num_classes_;
};

} // namespace

int main(int argc, char **argv) {
  const torch::Device device(argc > 1 ? argv[1] : "cuda:1");
  torch::manual_seed(0);
  constexpr int64_t kClasses = 10;

  torch::nn::Sequential model(torch::nn::Linear(16, 32), torch::nn::ReLU(),
                              torch::nn::Linear(32, kClasses));
  model->to(device);
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  Accuracy accuracy(kClasses);

  const auto inputs = torch::randn({20, 32, 16}, torch::TensorOptions().device(device));
  const auto labels =
      torch::randint(0, kClasses, {20, 32}, torch::dtype(torch::kLong).device(device));

  std::vector<torch::Tensor> log;
  for (int64_t step = 0; step < inputs.size(0); ++step) {
    const auto logits = model->forward(inputs[step]);
    const auto loss = torch::nn::functional::cross_entropy(logits, labels[step]);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    log.push_back(accuracy.update(logits.detach(), labels[step]));
  }
  const devsan::AllowSync once_at_the_end;
  std::cout << "mean accuracy over " << log.size()
            << " steps: " << torch::stack(log).mean().item<float>() << "\n";
}
