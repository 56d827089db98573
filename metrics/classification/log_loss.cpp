#include "metrics/classification/log_loss.h"

#include <ATen/ATen.h>

#include "metrics/classification/classification_metric.h"
#include "metrics/detail/meta.h"
#include "metrics/detail/softmax.h"

namespace devsan::metrics {

at::Tensor LogLossFormula::scores(const TaskConfig &config, const at::Tensor &rows) const {
  return config.from_logits && config.task == Task::kMulticlass ? detail::log_softmax(rows) : rows;
}

at::Tensor LogLossFormula::losses(const TaskConfig &config, const at::Tensor &scores,
                                  const at::Tensor &target) const {
  const bool binary = config.task == Task::kBinary;
  if (config.from_logits && !binary)
    return -wide(scores.gather(1, target));
  if (config.from_logits) {
    const at::Tensor z = wide(scores) * (1 - 2 * target);
    return z.clamp_min(0) + (-detail::absolute(z)).exp().log1p();
  }
  const double eps = scores.scalar_type() == at::kDouble
                         ? std::numeric_limits<double>::epsilon()
                         : static_cast<double>(std::numeric_limits<float>::epsilon());
  const at::Tensor p =
      binary ? scores * target + (1 - scores) * (1 - target) : scores.gather(1, target);
  return -wide(p.clamp(eps, 1 - eps)).log();
}

} // namespace devsan::metrics
