#include "metrics/regression/mean_squared_error.h"

#include <ATen/ATen.h>

#include "metrics/regression/formula.h"

namespace devsan::metrics {
namespace {

constexpr auto kTerms = [](const auto &x, const auto &y) {
  const auto d = x - y;
  return std::array{d * d};
};

} // namespace

MeanSquaredError::MeanSquaredError(const MeanSquaredErrorOptions &options)
    : SampleSums({.sums = {"sum_squared_error"},
                  .formula = formula_of<true>(kTerms),
                  .num_outputs = checked_num_outputs("MeanSquaredError", options.num_outputs()),
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}),
      squared_(options.squared()) {}

at::Tensor MeanSquaredError::value() const {
  return squared_ ? mean() : mean().sqrt();
}

std::string MeanSquaredError::signature() const {
  return SampleSums::signature() + ", squared=" + (squared_ ? "true" : "false");
}

} // namespace devsan::metrics
