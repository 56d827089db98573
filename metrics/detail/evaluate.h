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

// The functional form of a metric whose options all have defaults; the second one takes weights.
#define DEVSAN_FUNCTION(Class, function)                                                           \
  inline at::Tensor function(const at::Tensor &preds, const at::Tensor &target,                    \
                             const Class##Options &options = {}) {                                 \
    return detail::evaluate<Class>(options, preds, target);                                        \
  }
#define DEVSAN_WEIGHTED_FUNCTION(Class, function)                                                  \
  inline at::Tensor function(const at::Tensor &preds, const at::Tensor &target,                    \
                             const Class##Options &options = {}, const at::Tensor &weight = {}) {  \
    return detail::evaluate<Class>(options, preds, target, weight);                                \
  }
