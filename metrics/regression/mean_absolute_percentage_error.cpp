#include "metrics/regression/mean_absolute_percentage_error.h"

#include <ATen/ATen.h>

#include "metrics/regression/formula.h"
#include "metrics/regression/percentage_epsilon.h"

namespace devsan::metrics {
namespace {

using detail::at_least;
using detail::magnitude;

constexpr auto kTerms = [](const auto &x, const auto &y) {
  return std::array{magnitude(x - y) / at_least(magnitude(y), kPercentageEpsilon)};
};

} // namespace

MeanAbsolutePercentageError::MeanAbsolutePercentageError(
    const MeanAbsolutePercentageErrorOptions &options)
    : SampleSums({.sums = {"sum_abs_per_error"},
                  .formula = formula_of<false>(kTerms),
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}) {}

} // namespace devsan::metrics
