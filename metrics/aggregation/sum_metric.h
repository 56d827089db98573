#pragma once

#include "metrics/aggregation/aggregator.h"

namespace devsan::metrics {

using SumMetricOptions = AggregatorOptions;
using RunningSumOptions = RunningOptions;

// Sum of all values.
//
// update()   a real or bool tensor of any shape, none too, or a number.
// compute()  [] of the option's dtype; 0 where there were no values.
class SumMetric : public Aggregator {
public:
  explicit SumMetric(const SumMetricOptions &options = {});
  DEVSAN_METRIC(SumMetric)
  void update(const at::Tensor &value);
  void update(double value) { update(scalar(value)); }
  at::Tensor compute() const override;

protected:
  SumMetric(const AggregatorOptions &options, int64_t window);
};

// Sum of the values of the last `window` updates.
class RunningSum : public SumMetric {
public:
  explicit RunningSum(const RunningSumOptions &options = {});
  DEVSAN_METRIC(RunningSum)
};

} // namespace devsan::metrics
