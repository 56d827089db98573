#pragma once

#include "metrics/aggregation/aggregator.h"

namespace devsan::metrics {

using MaxMetricOptions = AggregatorOptions;

// The largest of all values.
//
// update()   a real or bool tensor of any shape, none too, or a number.
// compute()  [] of the option's dtype; -infinity where there were no values. Exact for floating
// inputs, if
//            the dtype holds them; integers beyond 2^53 are rounded.
class MaxMetric : public Aggregator {
public:
  explicit MaxMetric(const MaxMetricOptions &options = {});
  DEVSAN_METRIC(MaxMetric)
  void update(const at::Tensor &value);
  void update(double value) { update(scalar(value)); }
  at::Tensor compute() const override;
};

} // namespace devsan::metrics
