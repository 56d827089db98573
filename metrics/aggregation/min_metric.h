#pragma once

#include "metrics/aggregation/aggregator.h"

namespace devsan::metrics {

using MinMetricOptions = AggregatorOptions;

// The smallest of all values.
//
// update()   a real or bool tensor of any shape, none too, or a number.
// compute()  [] of the option's dtype; infinity where there were no values. Exact for floating
// inputs, if
//            the dtype holds them; integers beyond 2^53 are rounded.
class MinMetric : public Aggregator {
public:
  explicit MinMetric(const MinMetricOptions &options = {});
  DEVSAN_METRIC(MinMetric)
  void update(const at::Tensor &value);
  void update(double value) { update(scalar(value)); }
  at::Tensor compute() const override;
};

} // namespace devsan::metrics
