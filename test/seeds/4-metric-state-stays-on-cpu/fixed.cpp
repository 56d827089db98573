// Scores a regression model by the concordance of its predictions with the targets, batch by batch.
#include <iostream>

#include <devsan/devsan.h>
#include <torch/torch.h>

namespace {

// Running means and co-moments of predictions and targets, one per output (Chan et al., pairwise
// update).
struct ConcordanceImpl : torch::nn::Module {
  explicit ConcordanceImpl(int64_t num_outputs) : num_outputs_(num_outputs) {}

  void update(const torch::Tensor &preds, const torch::Tensor &target) {
    followFirstInput(preds);
    const double n = static_cast<double>(preds.size(0));
    const double total = count_ + n;
    const auto batch_x = preds.mean(0);
    const auto batch_y = target.mean(0);
    const auto dx = batch_x - mean_x_;
    const auto dy = batch_y - mean_y_;
    var_x_ += (preds - batch_x).square().sum(0) + dx.square() * (count_ * n / total);
    var_y_ += (target - batch_y).square().sum(0) + dy.square() * (count_ * n / total);
    cov_xy_ += ((preds - batch_x) * (target - batch_y)).sum(0) + dx * dy * (count_ * n / total);
    mean_x_ += dx * (n / total);
    mean_y_ += dy * (n / total);
    count_ = total;
  }

  torch::Tensor compute() const {
    const auto shift = (mean_x_ - mean_y_).square() * count_;
    return 2 * cov_xy_ / (var_x_ + var_y_ + shift);
  }

private:
  // The states are made where the first batch lies; as buffers they follow a later `to()` as well.
  void followFirstInput(const torch::Tensor &input) {
    if (mean_x_.defined()) {
      TORCH_CHECK(mean_x_.device() == input.device(), "Concordance: the states lie on ",
                  mean_x_.device(), ", this batch on ", input.device(),
                  ": move the batch, or the metric with to()");
      return;
    }
    mean_x_ = register_buffer("mean_x", torch::zeros({num_outputs_}, input.options()));
    mean_y_ = register_buffer("mean_y", torch::zeros({num_outputs_}, input.options()));
    var_x_ = register_buffer("var_x", torch::zeros({num_outputs_}, input.options()));
    var_y_ = register_buffer("var_y", torch::zeros({num_outputs_}, input.options()));
    cov_xy_ = register_buffer("cov_xy", torch::zeros({num_outputs_}, input.options()));
  }

  int64_t num_outputs_;
  double count_ = 0;
  torch::Tensor mean_x_, mean_y_, var_x_, var_y_, cov_xy_;
};
TORCH_MODULE(Concordance);

void evaluate(const torch::Device &device) {
  torch::nn::Linear model(8, 2);
  model->to(device);
  Concordance metric(2);

  torch::NoGradGuard no_grad;
  for (int step = 0; step < 10; ++step) {
    const auto inputs = torch::randn({64, 8}, torch::TensorOptions().device(device));
    const auto preds = model->forward(inputs);
    const auto target = preds + 0.1 * torch::randn_like(preds);
    metric->update(preds, target);
    devsan::expectSameDevice(model, metric, inputs);
  }
  const devsan::AllowSync once_at_the_end;
  std::cout << "concordance: " << metric->compute().mean().item<float>() << "\n";
}

} // namespace

int main(int argc, char **argv) {
  const torch::Device device(argc > 1 ? argv[1] : "cuda:1");
  torch::manual_seed(0);
  try {
    evaluate(device);
  } catch (const c10::Error &error) {
    std::cerr << error.what_without_backtrace() << "\n";
    return 1;
  }
}
