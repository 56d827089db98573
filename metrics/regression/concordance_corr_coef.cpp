#include "metrics/regression/concordance_corr_coef.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

ConcordanceCorrCoef::ConcordanceCorrCoef(const ConcordanceCorrCoefOptions &options)
    : CoMomentMetric(checked_num_outputs("ConcordanceCorrCoef", options.num_outputs()),
                     options.dtype(), options.accumulation()),
      unbiased_(options.unbiased()) {}

at::Tensor ConcordanceCorrCoef::compute() const {
  const StateScope scope;
  const Moments m = moments();
  const at::Tensor divisor = unbiased_ ? m.count - 1 : m.count;
  // What rounding leaves of a constant's moments must not pass for a variance where both inputs are
  // the same constant.
  const at::Tensor any_constant = m.constant_x.bitwise_or(m.constant_y);
  const at::Tensor covariance = m.c_xy.masked_fill(any_constant, 0) / divisor;
  const at::Tensor variances =
      (m.m2_x.masked_fill(m.constant_x, 0) + m.m2_y.masked_fill(m.constant_y, 0)) / divisor;
  return shaped_result(2 * covariance / (variances + m.mean_difference.square()));
}

std::string ConcordanceCorrCoef::signature() const {
  return CoMomentMetric::signature() + ", unbiased=" + (unbiased_ ? "true" : "false");
}

} // namespace devsan::metrics
