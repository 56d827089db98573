// A classifier is trained for a few epochs. The metrics of an epoch cost one read of the device, at
// its end; the best epoch is found on the device.
#include <iostream>

#include <torch/torch.h>

#include "metrics/classification/accuracy.h"
#include "metrics/classification/f_beta.h"
#include "metrics/classification/precision.h"
#include "metrics/classification/recall.h"
#include "metrics/collection.h"
#include "metrics/wrappers/metric_tracker.h"

using namespace devsan::metrics;

int main() {
  constexpr int64_t kClasses = 4, kFeatures = 16;
  torch::manual_seed(0);
  const torch::Device device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
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
    std::cout << '\n';
  }

  const auto best = tracker.best_metric();
  const auto step = best["train_accuracy"].step.item<int64_t>();
  const auto accuracy = best["train_accuracy"].value.item<float>();
  std::cout << "best accuracy " << accuracy << " in epoch " << step << '\n';
  return accuracy > 0.8 ? 0 : 1;
}
