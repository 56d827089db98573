#include "metrics/classification/precision_recall_curve.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor PrecisionRecallCurveFormula::value(const CurveCounts &c) {
  return c.stacked(at::constant_pad_nd(c.tp / (c.tp + c.fp), {0, 1}, 1),
                   at::constant_pad_nd(c.tp / c.positives, {0, 1}, 0));
}

} // namespace devsan::metrics
