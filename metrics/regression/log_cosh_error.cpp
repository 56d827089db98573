#include "metrics/regression/log_cosh_error.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/lane_math.h"
#include "metrics/regression/formula.h"

namespace devsan::metrics {
namespace {

using detail::exp_of_negative;
using detail::log1p_of_part;
using detail::magnitude;

constexpr auto kTerms = [](const auto &x, const auto &y) {
  // cosh d = e^|d| (1 + e^(-2|d|)) / 2
  const auto size = magnitude(x - y);
  return std::array{size + log1p_of_part(exp_of_negative(size * -2)) - std::log(2.)};
};

} // namespace

LogCoshError::LogCoshError(const LogCoshErrorOptions &options)
    : SampleSums({.sums = {"sum_log_cosh_error"},
                  .formula = formula_of<false>(kTerms),
                  .num_outputs = checked_num_outputs("LogCoshError", options.num_outputs()),
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}) {}

} // namespace devsan::metrics
