#include "metrics/aggregation/min_metric.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

MinMetric::MinMetric(const MinMetricOptions &options)
    : Aggregator({{"min_value", {1}, StateSpec::Kind::kMinimum}}, options) {}

void MinMetric::update(const at::Tensor &value) {
  fold_extreme(value, Extreme::kMinimum);
}

at::Tensor MinMetric::compute() const {
  const StateScope scope;
  return result(computable_states()[0]);
}

} // namespace devsan::metrics
