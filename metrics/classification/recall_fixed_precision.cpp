#include "metrics/classification/recall_fixed_precision.h"

#include <cmath>

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor RecallAtFixedPrecisionFormula::value(const CurveCounts &c) {
  // NaN, where nothing is predicted, is not at least anything.
  const at::Tensor precision = c.tp / (c.tp + c.fp);
  const CurvePoint point = highest_recall(c, precision.ge(c.config.min_precision));
  return c.stacked(point.recall, point.threshold.masked_fill(point.recall.eq(0), NAN));
}

} // namespace devsan::metrics
