#include "metrics/classification/sensitivity_specificity.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor SensitivityAtSpecificityFormula::value(const CurveCounts &c) {
  const at::Tensor specificity = safe_divide(c.negatives - c.fp, c.negatives, 1.);
  const CurvePoint point = highest_recall(c, specificity.ge(c.config.min_specificity));
  return c.stacked(point.recall, point.threshold.masked_fill(point.allowed.bitwise_not(), 1e6));
}

} // namespace devsan::metrics
