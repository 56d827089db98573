#include "metrics/aggregation/sum_metric.h"

#include <ATen/ATen.h>

#include "metrics/aggregation/running.h"

namespace devsan::metrics {

SumMetric::SumMetric(const SumMetricOptions &options)
    : Aggregator({{"sum_value", {1}, StateSpec::Kind::kMoment}}, options) {}

SumMetric::SumMetric(const AggregatorOptions &options, int64_t window)
    : Aggregator({{"sum_value", {1}, StateSpec::Kind::kMoment}}, options, window) {}

RunningSum::RunningSum(const RunningSumOptions &options)
    : SumMetric(without_window(options), checked_window("RunningSum", options.window())) {}

void SumMetric::update(const at::Tensor &value) {
  check(value);
  const StateScope scope;
  if (fold_fused(value, /*counted=*/false))
    return;
  const Batch values = batch(value);
  fold({moment(values.value.sum())}, values);
}

at::Tensor SumMetric::compute() const {
  const StateScope scope;
  return result(total(0));
}

} // namespace devsan::metrics
