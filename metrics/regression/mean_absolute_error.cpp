#include "metrics/regression/mean_absolute_error.h"

#include <ATen/ATen.h>

#include "metrics/regression/formula.h"

namespace devsan::metrics {
namespace {

using detail::magnitude;

constexpr auto kTerms = [](const auto &x, const auto &y) { return std::array{magnitude(x - y)}; };

} // namespace

MeanAbsoluteError::MeanAbsoluteError(const MeanAbsoluteErrorOptions &options)
    : SampleSums({.sums = {"sum_abs_error"},
                  .formula = formula_of<true>(kTerms),
                  .num_outputs = checked_num_outputs("MeanAbsoluteError", options.num_outputs()),
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}) {}

} // namespace devsan::metrics
