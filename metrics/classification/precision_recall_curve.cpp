#include "metrics/classification/precision_recall_curve.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor PrecisionRecallCurveFormula::value(const CurveCounts &c) {
  // Of all scores, the threshold where nothing is predicted is the point that closes the curve.
  const int64_t points = c.tp.size(-1) - c.exact();
  if (c.exact())
    warn_of_zeros(c.positives, kNoPositives);
  const at::Tensor tp = c.tp.narrow(-1, 0, points), fp = c.fp.narrow(-1, 0, points);
  const at::Tensor recall = c.exact() ? safe_divide(tp, c.positives, 1.) : tp / c.positives;
  return c.stacked(at::constant_pad_nd(tp / (tp + fp), {0, 1}, 1),
                   at::constant_pad_nd(recall, {0, 1}, 0));
}

} // namespace devsan::metrics
