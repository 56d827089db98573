#include "metrics/classification/eer.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor EERFormula::value(const CurveCounts &c) {
  const at::Tensor positives = c.positives.clamp_min(1), negatives = c.negatives.clamp_min(1);
  const at::Tensor misses = positives - c.tp;
  // Over the common denominator, so that equal differences are equal.
  const at::Tensor signed_difference = c.fp * positives - misses * negatives;
  const at::Tensor difference = at::maximum(signed_difference, -signed_difference);
  const at::Tensor least = difference.amin(-1, /*keepdim=*/true);
  const at::Tensor best = at::arange(difference.size(-1), difference.options().dtype(at::kLong))
                              .masked_fill(difference.ne(least), -1)
                              .amax(-1, /*keepdim=*/true);
  const at::Tensor mean = (c.fp / negatives + misses / positives) / 2;
  return c.averaged(mean.gather(-1, best).squeeze(-1));
}

at::Tensor EERFormula::of_curve(const at::Tensor &fpr, const at::Tensor &tpr) {
  const at::Tensor fnr = 1 - tpr, difference = fpr - fnr;
  const at::Tensor best = at::maximum(difference, -difference).argmin(0, /*keepdim=*/true);
  return ((fpr + fnr) / 2).gather(0, best).squeeze(0);
}

} // namespace devsan::metrics
