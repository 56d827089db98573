#include "metrics/regression/weighted_mean_absolute_percentage_error.h"

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/detail/fused.h"
#include "metrics/detail/meta.h"
#include "metrics/regression/percentage_epsilon.h"

namespace devsan::metrics {

WeightedMeanAbsolutePercentageError::WeightedMeanAbsolutePercentageError(
    const WeightedMeanAbsolutePercentageErrorOptions &options)
    : SampleSums({.sums = {"sum_abs_error", "sum_scale"},
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}) {}

std::vector<at::Tensor> WeightedMeanAbsolutePercentageError::terms(const at::Tensor &preds,
                                                                   const at::Tensor &target) const {
  return {detail::absolute(preds - target), detail::absolute(target)};
}

std::optional<std::vector<double>>
WeightedMeanAbsolutePercentageError::fused(const at::Tensor &preds,
                                           const at::Tensor &target) const {
  return detail::fused_sum_list<2>(preds, target, adding(),
                                   [](const auto &x, const auto &y, auto &sums) {
                                     sums[0] += absolute(x - y);
                                     sums[1] += absolute(y);
                                   });
}

at::Tensor WeightedMeanAbsolutePercentageError::value() const {
  return sum(0) / sum(1).clamp_min(kPercentageEpsilon);
}

at::Tensor
weighted_mean_absolute_percentage_error(const at::Tensor &preds, const at::Tensor &target,
                                        const WeightedMeanAbsolutePercentageErrorOptions &options,
                                        const at::Tensor &weight) {
  return detail::evaluate<WeightedMeanAbsolutePercentageError>(options, preds, target, weight);
}

} // namespace devsan::metrics
