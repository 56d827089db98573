#include "metrics/regression/log_cosh_error.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/detail/meta.h"

namespace devsan::metrics {

LogCoshError::LogCoshError(const LogCoshErrorOptions &options)
    : SampleSums({.sums = {"sum_log_cosh_error"},
                  .num_outputs = checked_num_outputs("LogCoshError", options.num_outputs()),
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}) {}

std::vector<at::Tensor> LogCoshError::terms(const at::Tensor &preds,
                                            const at::Tensor &target) const {
  // cosh d = e^|d| (1 + e^(-2|d|)) / 2
  const at::Tensor size = detail::absolute(preds - target);
  return {size + (size * -2).exp().log1p() - std::log(2.)};
}

at::Tensor log_cosh_error(const at::Tensor &preds, const at::Tensor &target,
                          const LogCoshErrorOptions &options) {
  return detail::evaluate<LogCoshError>(options, preds, target);
}

} // namespace devsan::metrics
