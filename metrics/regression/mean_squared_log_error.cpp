#include "metrics/regression/mean_squared_log_error.h"

#include <ATen/ATen.h>

#include "metrics/detail/lane_math.h"

namespace devsan::metrics {

MeanSquaredLogError::MeanSquaredLogError(const MeanSquaredLogErrorOptions &options)
    : SampleSums({.sums = {"sum_squared_log_error"},
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation(),
                  .domain = Domain{"preds > -1 and target > -1", options.validate()}}) {}

std::vector<at::Tensor> MeanSquaredLogError::terms(const at::Tensor &preds,
                                                   const at::Tensor &target) const {
  return {(preds.log1p() - target.log1p()).square()};
}

std::optional<std::vector<double>> MeanSquaredLogError::fused(const at::Tensor &preds,
                                                              const at::Tensor &target) const {
  using detail::Lanes;
  return detail::finite(detail::fused_sum_list<1>(
      preds, target, [](const Lanes &x, const Lanes &y, detail::LaneSums<1> &sums) {
        const Lanes error = detail::log_of_ratio(1 + x, 1 + y, x - y);
        sums[0] += error * error;
      }));
}

at::Tensor MeanSquaredLogError::outside_domain(const at::Tensor &preds,
                                               const at::Tensor &target) const {
  return preds.le(-1).bitwise_or(target.le(-1));
}

} // namespace devsan::metrics
