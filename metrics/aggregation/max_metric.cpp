#include "metrics/aggregation/max_metric.h"

#include <limits>

#include <ATen/ATen.h>

namespace devsan::metrics {

MaxMetric::MaxMetric(const MaxMetricOptions &options)
    : Aggregator({{"max_value", {1}, StateSpec::Kind::kMaximum}}, options) {}

void MaxMetric::update(const at::Tensor &value) {
  const StateScope scope;
  const Batch values = batch(value);
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  at::Tensor seen = values.value;
  if (values.left_out.defined())
    seen = seen.masked_fill(values.left_out, kNone);
  fold({seen.numel() == 0 ? at::full({1}, kNone, seen.options()) : seen.amax(0, /*keepdim=*/true)},
       values);
}

at::Tensor MaxMetric::compute() const {
  const StateScope scope;
  return result(computable_states()[0]);
}

} // namespace devsan::metrics
