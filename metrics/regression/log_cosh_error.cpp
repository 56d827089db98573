#include "metrics/regression/log_cosh_error.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/detail/lane_math.h"
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

std::optional<std::vector<double>> LogCoshError::fused(const at::Tensor &preds,
                                                       const at::Tensor &target) const {
  using detail::Lanes;
  return detail::finite(detail::fused_sum_list<1>(
      preds, target, [](const Lanes &x, const Lanes &y, detail::LaneSums<1> &sums) {
        const Lanes size = absolute(x - y), e = detail::exp_of_negative(size * -2);
        sums[0] += size + detail::log1p_of_part(e) - std::log(2.);
      }));
}

at::Tensor log_cosh_error(const at::Tensor &preds, const at::Tensor &target,
                          const LogCoshErrorOptions &options, const at::Tensor &weight) {
  return detail::evaluate<LogCoshError>(options, preds, target, weight);
}

} // namespace devsan::metrics
