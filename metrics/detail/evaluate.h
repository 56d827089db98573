#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::metrics::detail {

// The functional form of a metric: one object, one update, its value.
template <typename M, typename Options, typename... Inputs>
at::Tensor evaluate(const Options &options, const Inputs &...inputs) {
  M metric(options);
  metric.update(inputs...);
  return metric.compute();
}

} // namespace devsan::metrics::detail
