#include "metrics/classification/auroc.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor AUROCFormula::value(const CurveCounts &c) {
  const at::Tensor fpr = c.fpr(), tpr = c.tpr();
  const int64_t parts = fpr.size(-1) - 1;
  // Both rates fall from one threshold to the next.
  const at::Tensor right = fpr.narrow(-1, 0, parts), left = fpr.narrow(-1, 1, parts);
  const at::Tensor top = tpr.narrow(-1, 0, parts), bottom = tpr.narrow(-1, 1, parts);
  const at::Tensor area = ((right - left) * (top + bottom)).sum(-1) / 2;
  if (!c.config.max_fpr || *c.config.max_fpr == 1)
    return c.averaged(area);

  // Each part up to the limit, on the line between its ends.
  const double limit = *c.config.max_fpr;
  const at::Tensor width = (right.clamp_max(limit) - left).clamp_min(0);
  const at::Tensor rise = (top - bottom) * safe_divide(width, right - left);
  const at::Tensor partial = (width * (2 * bottom + rise)).sum(-1) / 2;
  const double least = limit * limit / 2;
  const at::Tensor standardised = ((partial - least) / (limit - least) + 1) / 2;
  const at::Tensor empty = fpr.sum(-1).eq(0).bitwise_or(tpr.sum(-1).eq(0));
  return c.averaged(at::where(empty, area, standardised));
}

} // namespace devsan::metrics
