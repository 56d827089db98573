#include "metrics/regression/mean_absolute_error.h"

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
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

at::Tensor mean_absolute_error(const at::Tensor &preds, const at::Tensor &target,
                               const MeanAbsoluteErrorOptions &options) {
  return detail::evaluate<MeanAbsoluteError>(options, preds, target);
}

} // namespace devsan::metrics
