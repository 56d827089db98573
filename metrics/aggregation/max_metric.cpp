#include "metrics/aggregation/max_metric.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

MaxMetric::MaxMetric(const MaxMetricOptions &options)
    : Aggregator({{"max_value", {1}, StateSpec::Kind::kMaximum}}, options) {}

void MaxMetric::update(const at::Tensor &value) {
  fold_extreme(value, Extreme::kMaximum);
}

at::Tensor MaxMetric::compute() const {
  const StateScope scope;
  return result(computable_states()[0]);
}

} // namespace devsan::metrics
