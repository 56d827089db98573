#include "metrics/regression/mean_absolute_error.h"

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/detail/fused.h"
#include "metrics/detail/meta.h"

namespace devsan::metrics {

MeanAbsoluteError::MeanAbsoluteError(const MeanAbsoluteErrorOptions &options)
    : SampleSums({.sums = {"sum_abs_error"},
                  .num_outputs = checked_num_outputs("MeanAbsoluteError", options.num_outputs()),
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}) {}

std::vector<at::Tensor> MeanAbsoluteError::terms(const at::Tensor &preds,
                                                 const at::Tensor &target) const {
  return {detail::absolute(preds - target)};
}

std::optional<std::vector<double>> MeanAbsoluteError::fused(const at::Tensor &preds,
                                                            const at::Tensor &target) const {
  return detail::fused_sum_list<1>(
      preds, target, adding(),
      [](const auto &x, const auto &y, auto &sums) { sums[0] += absolute(x - y); });
}

at::Tensor mean_absolute_error(const at::Tensor &preds, const at::Tensor &target,
                               const MeanAbsoluteErrorOptions &options, const at::Tensor &weight) {
  return detail::evaluate<MeanAbsoluteError>(options, preds, target, weight);
}

} // namespace devsan::metrics
