#include "metrics/classification/confusion_matrix_metric.h"

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

std::vector<int64_t> matrix_sizes(const TaskConfig &config) {
  switch (config.task) {
  case Task::kBinary:
    return {2, 2};
  case Task::kMulticlass:
    return {config.classes, config.classes};
  case Task::kMultilabel:
    return {config.classes, 2, 2};
  }
  return {};
}

} // namespace

ConfusionMatrixMetric::ConfusionMatrixMetric(const char *formula, const TaskConfig &config)
    : ClassificationMetric(formula, config, matrix_sizes(config)) {}

at::Tensor ConfusionMatrixMetric::count(const Samples &samples) const {
  const std::vector<int64_t> sizes = matrix_sizes(config());
  const at::Tensor counted = samples.counted;
  if (config().task != Task::kMulticlass) {
    const at::Tensor one = samples.target.bitwise_and(counted);
    const at::Tensor zero = counted.bitwise_and(samples.target.bitwise_not());
    const at::Tensor missed = samples.predicted.bitwise_not();
    return at::stack({zero.bitwise_and(missed), zero.bitwise_and(samples.predicted),
                      one.bitwise_and(missed), one.bitwise_and(samples.predicted)})
        .sum(1)
        .t()
        .reshape(sizes);
  }
  // What does not count goes to the bin after the last.
  const int64_t nowhere = config().classes * config().classes;
  const at::Tensor bins = (samples.target * config().classes + samples.predicted)
                              .masked_fill(counted.bitwise_not(), nowhere);
  return at::zeros({nowhere + 1}, bins.options())
      .scatter_add(0, bins, at::ones_like(bins))
      .narrow(0, 0, nowhere)
      .view(sizes);
}

} // namespace devsan::metrics
