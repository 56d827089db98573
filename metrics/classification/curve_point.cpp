#include "metrics/classification/curve_point.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

CurvePoint highest_recall(const CurveCounts &c, const at::Tensor &allowed) {
  const at::Tensor candidates = c.tp.masked_fill(allowed.bitwise_not(), -1);
  const at::Tensor most = candidates.amax(-1, /*keepdim=*/true);
  const at::Tensor best = candidates.eq(most);
  const at::Tensor threshold =
      c.thresholds.to(c.tp.scalar_type()).masked_fill(best.bitwise_not(), -1).amax(-1);
  return {safe_divide(most.clamp_min(0), c.positives).squeeze(-1), threshold, allowed.any(-1)};
}

} // namespace devsan::metrics
