#include "metrics/regression/explained_variance.h"

#include <cmath>

#include <ATen/ATen.h>

namespace devsan::metrics {

ExplainedVariance::ExplainedVariance(const ExplainedVarianceOptions &options)
    : ResidualMomentMetric(checked_num_outputs("ExplainedVariance", options.num_outputs()),
                           options.multioutput(), options.dtype(), options.accumulation()) {}

at::Tensor ExplainedVariance::compute() const {
  const StateScope scope;
  const Moments m = moments();
  return averaged(m, scores(m, m.m2_x, m.constant_x).masked_fill(m.weight.eq(0), NAN));
}

} // namespace devsan::metrics
