#include "metrics/wrappers/metric_tracker.h"

#include <limits>

#include <ATen/ATen.h>

#include "metrics/detail/meta.h"

namespace devsan::metrics {

BestMetric best_of(const at::Tensor &values, bool maximize) {
  const double worst = std::numeric_limits<double>::infinity() * (maximize ? -1 : 1);
  const at::Tensor nan = detail::is_nan(values);
  const at::Tensor comparable =
      values.is_floating_point() ? values.masked_fill(nan, worst) : values;
  const at::Tensor best = maximize ? comparable.amax(0) : comparable.amin(0);
  // Where the best is the worst, a NaN is as good in `comparable`.
  const at::Tensor step =
      comparable.eq(best).logical_and(nan.logical_not()).to(at::kByte).argmax(0);
  return {values.gather(0, step.unsqueeze(0)).squeeze(0), step};
}

} // namespace devsan::metrics
