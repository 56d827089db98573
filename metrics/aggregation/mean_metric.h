#pragma once

#include "metrics/aggregation/aggregator.h"

namespace devsan::metrics {

using MeanMetricOptions = AggregatorOptions;
using RunningMeanOptions = RunningOptions;

// Weighted mean of all values, sum(value * weight) / sum(weight).
//
// update()   value: a real or bool tensor of any shape, none too, or a number. weight: the same, of
//            a shape that broadcasts to that of `value`; 1 where it is not given.
// compute()  [] of the option's dtype; NaN where the weights' sum is 0, as it is of no values.
//
// TorchMetrics ignores the weights for nan_strategy "disable"; here they count.
class MeanMetric : public Aggregator {
public:
  explicit MeanMetric(const MeanMetricOptions &options = {});
  DEVSAN_METRIC(MeanMetric)
  // `weight` may be undefined.
  void update(const at::Tensor &value, const at::Tensor &weight = {});
  void update(const at::Tensor &value, double weight);
  void update(double value, double weight = 1) { update(scalar(value), weight); }
  at::Tensor compute() const override;

protected:
  MeanMetric(const AggregatorOptions &options, int64_t window);
};

// Weighted mean of the values of the last `window` updates.
class RunningMean : public MeanMetric {
public:
  explicit RunningMean(const RunningMeanOptions &options = {});
  DEVSAN_METRIC(RunningMean)
};

} // namespace devsan::metrics
