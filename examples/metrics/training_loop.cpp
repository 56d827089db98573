// A classifier is trained for a few epochs and evaluated on two devices after each: two GPUs, or
// twice the same device where there are fewer (`devsan run --sim=2 -- training_loop` simulates
// two). The metrics of an epoch cost one read of a device, at its end; the best epoch is found on
// the device.
#include <iostream>
#include <vector>

#include <torch/torch.h>

#include "metrics/classification/accuracy.h"
#include "metrics/classification/f_beta.h"
#include "metrics/classification/precision.h"
#include "metrics/classification/recall.h"
#include "metrics/collection.h"
#include "metrics/wrappers/metric_tracker.h"

using namespace devsan::metrics;

namespace {

constexpr int64_t kClasses = 4, kFeatures = 16;

std::vector<torch::Device> two_devices() {
  const auto gpu = [](int index) {
    return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
  };
  switch (torch::cuda::device_count()) {
  case 0:
    return {torch::kCPU, torch::kCPU};
  case 1:
    return {gpu(0), gpu(0)};
  default:
    return {gpu(0), gpu(1)};
  }
}

// Each device has a copy of the model and of the metrics, and takes every other batch.
MetricCollection evaluate(const torch::nn::Linear &model, const MetricCollection &metrics,
                          const std::vector<std::pair<torch::Tensor, torch::Tensor>> &batches,
                          const std::vector<torch::Device> &devices) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::nn::Linear> models;
  std::vector<MetricCollection> parts;
  for (const torch::Device &device : devices) {
    models.emplace_back(std::dynamic_pointer_cast<torch::nn::LinearImpl>(model->clone(device)));
    parts.push_back(metrics.clone("val_"));
  }
  for (size_t i = 0; i < batches.size(); ++i) {
    const size_t which = i % devices.size();
    const torch::Device device = devices[which];
    const auto &[data, target] = batches[i];
    parts[which].update(models[which](data.to(device)), target.to(device)); // waits for none
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    parts[i].to(devices.front()); // a few numbers
    parts.front().merge(parts[i]);
  }
  return parts.front();
}

} // namespace

int main() {
  torch::manual_seed(0);
  const std::vector<torch::Device> devices = two_devices();
  const torch::Device device = devices.front();
  torch::nn::Linear model(kFeatures, kClasses);
  model->to(device);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.05));
  const torch::Tensor truth = torch::randn({kFeatures, kClasses}, device);

  // Accuracy, precision, recall and F1 are functions of the same counts: these are kept and updated
  // once.
  const MetricCollection metrics({{"accuracy", MulticlassAccuracy(kClasses)},
                                  {"precision", MulticlassPrecision(kClasses)},
                                  {"recall", MulticlassRecall(kClasses)},
                                  {"f1", MulticlassF1Score(kClasses)}},
                                 MetricCollectionOptions().prefix("train_"));
  MetricTracker tracker(metrics);
  std::vector<std::pair<torch::Tensor, torch::Tensor>> validation;
  for (int i = 0; i < 7; ++i) {
    const torch::Tensor data = torch::randn({32, kFeatures}, device);
    validation.emplace_back(data, data.matmul(truth).argmax(1));
  }

  for (int epoch = 0; epoch < 5; ++epoch) {
    tracker.increment();
    for (int step = 0; step < 20; ++step) {
      const torch::Tensor data = torch::randn({64, kFeatures}, device);
      const torch::Tensor target = data.matmul(truth).argmax(1);
      const torch::Tensor scores = model(data);
      optimizer.zero_grad();
      torch::nn::functional::cross_entropy(scores, target).backward();
      optimizer.step();
      tracker.update(scores, target); // neither a copy nor a wait; keeps no graph
    }
    std::cout << "epoch " << epoch;
    for (const auto &result : tracker.compute())
      std::cout << ' ' << result.key() << ' ' << result.value().item<float>();
    for (const auto &result : evaluate(model, metrics, validation, devices).compute())
      std::cout << ' ' << result.key() << ' ' << result.value().item<float>();
    std::cout << '\n';
  }

  // On two devices as on one.
  std::cout << "evaluated on " << devices[0] << " and " << devices[1] << '\n';
  const auto on_two = evaluate(model, metrics, validation, devices).compute();
  const auto on_one = evaluate(model, metrics, validation, {device}).compute();
  for (const auto &result : on_two)
    if (!torch::allclose(result.value(), on_one[result.key()]))
      return 1;

  const auto best = tracker.best_metric();
  const auto step = best["train_accuracy"].step.item<int64_t>();
  const auto accuracy = best["train_accuracy"].value.item<float>();
  std::cout << "best accuracy " << accuracy << " in epoch " << step << '\n';
  return accuracy > 0.8 ? 0 : 1;
}
