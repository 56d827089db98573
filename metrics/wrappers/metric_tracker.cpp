#include "metrics/wrappers/metric_tracker.h"

#include <limits>

#include <ATen/ATen.h>

#include "metrics/detail/meta.h"

namespace devsan::metrics {

BestMetric best_of(const at::Tensor &values, bool maximize) {
  const double worst = std::numeric_limits<double>::infinity() * (maximize ? -1 : 1);
  const at::Tensor comparable =
      values.is_floating_point() ? values.masked_fill(detail::is_nan(values), worst) : values;
  const at::Tensor step = maximize ? comparable.argmax(0) : comparable.argmin(0);
  return {values.gather(0, step.unsqueeze(0)).squeeze(0), step};
}

} // namespace devsan::metrics
