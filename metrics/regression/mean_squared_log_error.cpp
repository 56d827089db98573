#include "metrics/regression/mean_squared_log_error.h"

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"

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

at::Tensor MeanSquaredLogError::outside_domain(const at::Tensor &preds,
                                               const at::Tensor &target) const {
  return preds.le(-1).bitwise_or(target.le(-1));
}

at::Tensor mean_squared_log_error(const at::Tensor &preds, const at::Tensor &target,
                                  const MeanSquaredLogErrorOptions &options) {
  return detail::evaluate<MeanSquaredLogError>(options, preds, target);
}

} // namespace devsan::metrics
