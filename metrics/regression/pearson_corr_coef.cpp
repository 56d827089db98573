#include "metrics/regression/pearson_corr_coef.h"

#include <cmath>

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

int64_t checked_outputs(int64_t num_outputs) {
  TORCH_CHECK(num_outputs >= 1, "PearsonCorrCoef: num_outputs is ", num_outputs,
              "; pass at least 1");
  return num_outputs;
}

} // namespace

PearsonCorrCoef::PearsonCorrCoef(const PearsonCorrCoefOptions &options)
    : CoMomentMetric(checked_outputs(options.num_outputs()), options.dtype(),
                     options.accumulation()) {}

at::Tensor PearsonCorrCoef::compute() const {
  const StateScope scope;
  const Moments m = moments();
  // Two roots, because the product of the moments may overflow where the quotient does not.
  const at::Tensor r = (m.c_xy / m.m2_x.sqrt() / m.m2_y.sqrt()).clamp(-1, 1);
  return shaped_result(r.masked_fill(m.constant_x.bitwise_or(m.constant_y), NAN));
}

} // namespace devsan::metrics
