#include "metrics/classification/brier_score.h"

#include <ATen/ATen.h>

#include "metrics/classification/classification_metric.h"

namespace devsan::metrics {

at::Tensor BrierScoreFormula::scores(const TaskConfig &config, const at::Tensor &rows) const {
  return row_probabilities(config, rows);
}

at::Tensor BrierScoreFormula::losses(const TaskConfig &config, const at::Tensor &scores,
                                     const at::Tensor &target) const {
  const at::Tensor p = wide(scores);
  if (config.task == Task::kBinary)
    return (p - target).square() * (2 * scale);
  return (p.square().sum(1, /*keepdim=*/true) + (1 - 2 * p.gather(1, target))) * scale;
}

} // namespace devsan::metrics
