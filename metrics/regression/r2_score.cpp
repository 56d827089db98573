#include "metrics/regression/r2_score.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/meta.h"

namespace devsan::metrics {

R2Score::R2Score(const R2ScoreOptions &options)
    : ResidualMomentMetric(checked_num_outputs("R2Score", options.num_outputs()),
                           options.multioutput(), options.dtype(), options.accumulation()),
      adjusted_(options.adjusted()) {
  TORCH_CHECK(adjusted_ >= 0, "R2Score: adjusted is ", adjusted_,
              "; pass the number of regressors, or 0");
}

at::Tensor R2Score::compute() const {
  const StateScope scope;
  const Moments m = moments();
  const at::Tensor residual = m.m2_x + m.weight * m.mean_x.square();
  at::Tensor score = scores(m, residual, residual.eq(0))
                         .masked_fill(m.count.lt(2).bitwise_or(m.weight.eq(0)), NAN);
  if (adjusted_ > 0) {
    // NOLINTNEXTLINE(device-host-sync): the CPU's own memory
    if (m.count.is_cpu() && m.count.item<double>() < static_cast<double>(adjusted_ + 2))
      TORCH_WARN(name(),
                 m.count.item<double>() == static_cast<double>(adjusted_ + 1)
                     ? ": Division by zero in adjusted r2 score."
                     : ": More independent regressions than data points in adjusted r2 score.",
                 " Falls back to standard r2 score.");
    const at::Tensor freedom = m.count - (adjusted_ + 1);
    score = detail::where(freedom.gt(0), 1 - (1 - score) * (m.count - 1) / freedom, score);
  }
  return averaged(m, score);
}

std::string R2Score::signature() const {
  return ResidualMomentMetric::signature() + ", adjusted=" + std::to_string(adjusted_);
}

} // namespace devsan::metrics
