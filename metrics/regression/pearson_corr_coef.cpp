#include "metrics/regression/pearson_corr_coef.h"

#include <cmath>

#include <ATen/ATen.h>

namespace devsan::metrics {

PearsonCorrCoef::PearsonCorrCoef(const PearsonCorrCoefOptions &options)
    : CoMomentMetric(checked_num_outputs("PearsonCorrCoef", options.num_outputs()), options.dtype(),
                     options.accumulation()) {}

at::Tensor PearsonCorrCoef::compute() const {
  const StateScope scope;
  const Moments m = moments();
  // Two roots, because the product of the moments may overflow where the quotient does not.
  const at::Tensor r = (m.c_xy / m.m2_x.sqrt() / m.m2_y.sqrt()).clamp(-1, 1);
  return shaped_result(r.masked_fill(m.constant_x.bitwise_or(m.constant_y), NAN));
}

} // namespace devsan::metrics
