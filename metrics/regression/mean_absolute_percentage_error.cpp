#include "metrics/regression/mean_absolute_percentage_error.h"

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/detail/fused.h"
#include "metrics/detail/meta.h"
#include "metrics/regression/percentage_epsilon.h"

namespace devsan::metrics {

MeanAbsolutePercentageError::MeanAbsolutePercentageError(
    const MeanAbsolutePercentageErrorOptions &options)
    : SampleSums({.sums = {"sum_abs_per_error"},
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}) {}

std::vector<at::Tensor> MeanAbsolutePercentageError::terms(const at::Tensor &preds,
                                                           const at::Tensor &target) const {
  return {detail::absolute(preds - target) /
          detail::absolute(target).clamp_min(kPercentageEpsilon)};
}

std::optional<std::vector<double>>
MeanAbsolutePercentageError::fused(const at::Tensor &preds, const at::Tensor &target) const {
  return detail::fused_sum_list<1>(
      preds, target, [](const detail::Lanes &x, const detail::Lanes &y, detail::LaneSums<1> &sums) {
        sums[0] += absolute(x - y) / at_least(absolute(y), kPercentageEpsilon);
      });
}

at::Tensor mean_absolute_percentage_error(const at::Tensor &preds, const at::Tensor &target,
                                          const MeanAbsolutePercentageErrorOptions &options,
                                          const at::Tensor &weight) {
  return detail::evaluate<MeanAbsolutePercentageError>(options, preds, target, weight);
}

} // namespace devsan::metrics
