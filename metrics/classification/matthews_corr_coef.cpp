#include "metrics/classification/matthews_corr_coef.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor MatthewsCorrCoefFormula::value(const StatCounts &counts) {
  at::Tensor targets = counts.tp + counts.fn, predictions = counts.tp + counts.fp;
  at::Tensor right = counts.tp.sum();
  if (!counts.multiclass()) {
    const at::Tensor right_negatives = counts.tn.sum();
    targets = at::stack({targets.sum(), right_negatives + counts.fp.sum()});
    predictions = at::stack({predictions.sum(), right_negatives + counts.fn.sum()});
    right = right + right_negatives;
  }
  const at::Tensor all = targets.sum();
  const auto spread = [&](const at::Tensor &margin) {
    return (all * all - margin.square().sum()).clamp_min(0).sqrt(); // weights are rounded
  };
  const at::Tensor covariance = right * all - (targets * predictions).sum();
  // Two roots, because the product of the moments may overflow.
  at::Tensor r = safe_divide(covariance, spread(targets) * spread(predictions));
  if (targets.size(0) > 2)
    return r;
  const at::Tensor seen = all.gt(0);
  return r.masked_fill(right.eq(all).bitwise_and(seen), 1)
      .masked_fill(right.eq(0).bitwise_and(seen), -1);
}

} // namespace devsan::metrics
