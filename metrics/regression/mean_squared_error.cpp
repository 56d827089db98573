#include "metrics/regression/mean_squared_error.h"

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/detail/fused.h"

namespace devsan::metrics {

MeanSquaredError::MeanSquaredError(const MeanSquaredErrorOptions &options)
    : SampleSums({.sums = {"sum_squared_error"},
                  .num_outputs = checked_num_outputs("MeanSquaredError", options.num_outputs()),
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}),
      squared_(options.squared()) {}

std::vector<at::Tensor> MeanSquaredError::terms(const at::Tensor &preds,
                                                const at::Tensor &target) const {
  return {(preds - target).square()};
}

std::optional<std::vector<double>> MeanSquaredError::fused(const at::Tensor &preds,
                                                           const at::Tensor &target) const {
  return detail::fused_sum_list<1>(preds, target, adding(),
                                   [](const auto &x, const auto &y, auto &sums) {
                                     const auto d = x - y;
                                     sums[0] += d * d;
                                   });
}

at::Tensor MeanSquaredError::value() const {
  return squared_ ? mean() : mean().sqrt();
}

std::string MeanSquaredError::signature() const {
  return SampleSums::signature() + ", squared=" + (squared_ ? "true" : "false");
}

at::Tensor mean_squared_error(const at::Tensor &preds, const at::Tensor &target,
                              const MeanSquaredErrorOptions &options, const at::Tensor &weight) {
  return detail::evaluate<MeanSquaredError>(options, preds, target, weight);
}

} // namespace devsan::metrics
