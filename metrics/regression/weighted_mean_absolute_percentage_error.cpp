#include "metrics/regression/weighted_mean_absolute_percentage_error.h"

#include <ATen/ATen.h>

#include "metrics/regression/formula.h"
#include "metrics/regression/percentage_epsilon.h"

namespace devsan::metrics {
namespace {

using detail::magnitude;

constexpr auto kTerms = [](const auto &x, const auto &y) {
  return std::array{magnitude(x - y), magnitude(y)};
};

} // namespace

WeightedMeanAbsolutePercentageError::WeightedMeanAbsolutePercentageError(
    const WeightedMeanAbsolutePercentageErrorOptions &options)
    : SampleSums({.sums = {"sum_abs_error", "sum_scale"},
                  .formula = formula_of<true>(kTerms),
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}) {}

at::Tensor WeightedMeanAbsolutePercentageError::value() const {
  return sum(0) / sum(1).clamp_min(kPercentageEpsilon);
}

} // namespace devsan::metrics
