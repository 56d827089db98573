#include "metrics/regression/symmetric_mean_absolute_percentage_error.h"

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/detail/fused.h"
#include "metrics/detail/meta.h"
#include "metrics/regression/percentage_epsilon.h"

namespace devsan::metrics {

SymmetricMeanAbsolutePercentageError::SymmetricMeanAbsolutePercentageError(
    const SymmetricMeanAbsolutePercentageErrorOptions &options)
    : SampleSums({.sums = {"sum_abs_per_error"},
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}) {}

std::vector<at::Tensor>
SymmetricMeanAbsolutePercentageError::terms(const at::Tensor &preds,
                                            const at::Tensor &target) const {
  const at::Tensor scale =
      (detail::absolute(preds) + detail::absolute(target)).clamp_min(kPercentageEpsilon);
  return {2 * detail::absolute(preds - target) / scale};
}

std::optional<std::vector<double>>
SymmetricMeanAbsolutePercentageError::fused(const at::Tensor &preds,
                                            const at::Tensor &target) const {
  return detail::fused_sum_list<1>(
      preds, target, [](const detail::Lanes &x, const detail::Lanes &y, detail::LaneSums<1> &sums) {
        sums[0] += 2 * absolute(x - y) / at_least(absolute(x) + absolute(y), kPercentageEpsilon);
      });
}

at::Tensor
symmetric_mean_absolute_percentage_error(const at::Tensor &preds, const at::Tensor &target,
                                         const SymmetricMeanAbsolutePercentageErrorOptions &options,
                                         const at::Tensor &weight) {
  return detail::evaluate<SymmetricMeanAbsolutePercentageError>(options, preds, target, weight);
}

} // namespace devsan::metrics
