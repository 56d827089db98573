#include "metrics/regression/residual_moments.h"

#include <ATen/ATen.h>

#include "metrics/detail/meta.h"

namespace devsan::metrics {

ResidualMomentMetric::ResidualMomentMetric(int64_t num_outputs, Multioutput multioutput,
                                           at::ScalarType dtype,
                                           std::optional<Accumulation> accumulation)
    : CoMomentMetric(num_outputs, dtype, accumulation, X::kResidual), multioutput_(multioutput) {}

at::Tensor ResidualMomentMetric::scores(const Moments &moments, const at::Tensor &unexplained,
                                        const at::Tensor &perfect) {
  // A NaN is neither, and stays.
  const at::Tensor constant = moments.constant_y.bitwise_and(unexplained.eq(unexplained));
  return detail::where(constant, perfect.to(unexplained.scalar_type()),
                       1 - unexplained / moments.m2_y);
}

at::Tensor ResidualMomentMetric::averaged(const Moments &moments, const at::Tensor &scores) const {
  switch (multioutput_) {
  case Multioutput::kRawValues:
    return shaped_result(scores);
  case Multioutput::kUniformAverage:
    return shaped_result(scores.mean(0, /*keepdim=*/true));
  case Multioutput::kVarianceWeighted: {
    const at::Tensor weights = moments.m2_y.masked_fill(moments.constant_y, 0);
    const at::Tensor total = weights.sum(0, /*keepdim=*/true);
    return shaped_result(detail::where(total.eq(0), scores.mean(0, /*keepdim=*/true),
                                       (scores * weights).sum(0, /*keepdim=*/true) / total));
  }
  }
  return {};
}

std::string ResidualMomentMetric::signature() const {
  return CoMomentMetric::signature() + c10::str(", multioutput=", static_cast<int>(multioutput_));
}

} // namespace devsan::metrics
