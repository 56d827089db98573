#include "metrics/classification/hinge_loss.h"

#include <ATen/ATen.h>

#include "metrics/classification/classification_metric.h"

namespace devsan::metrics {

at::Tensor HingeLossFormula::scores(const TaskConfig &config, const at::Tensor &rows) const {
  return row_probabilities(config, rows);
}

at::Tensor HingeLossFormula::losses(const TaskConfig &config, const at::Tensor &scores,
                                    const at::Tensor &target) const {
  const at::Tensor x = wide(scores);
  at::Tensor margin;
  if (config.task == Task::kBinary)
    margin = x * (2 * target - 1);
  else if (one_vs_all_)
    margin = x * at::full_like(x, -1).scatter(1, target, 1);
  else
    margin = x.gather(1, target) -
             x.scatter(1, target, -std::numeric_limits<double>::infinity()).amax(1, true);
  const at::Tensor hinge = (1 - margin).clamp_min(0);
  return squared_ ? hinge.square() : hinge;
}

} // namespace devsan::metrics
