#include "metrics/classification/average_precision.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor AveragePrecisionFormula::value(const CurveCounts &c) {
  if (c.exact())
    warn_of_zeros(c.positives, kNoPositives);
  const at::Tensor recall = c.tpr();
  const at::Tensor next = at::constant_pad_nd(recall.slice(-1, 1), {0, 1}, 0);
  return c.averaged(((recall - next) * safe_divide(c.tp, c.tp + c.fp)).sum(-1));
}

} // namespace devsan::metrics
