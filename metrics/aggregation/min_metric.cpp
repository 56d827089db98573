#include "metrics/aggregation/min_metric.h"

#include <limits>

#include <ATen/ATen.h>

namespace devsan::metrics {

MinMetric::MinMetric(const MinMetricOptions &options)
    : Aggregator({{"min_value", {1}, StateSpec::Kind::kMinimum}}, options) {}

void MinMetric::update(const at::Tensor &value) {
  check(value);
  const StateScope scope;
  const Batch values = batch_as_it_is(value);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  at::Tensor seen = values.value;
  if (values.left_out.defined() && seen.is_floating_point())
    seen = seen.masked_fill(values.left_out, kNone);
  const at::TensorOptions real = real_on(value.device());
  fold({seen.numel() == 0
            ? at::full({1}, kNone, real)
            : seen.amin(0, /*keepdim=*/true).to(c10::typeMetaToScalarType(real.dtype()))},
       values);
}

at::Tensor MinMetric::compute() const {
  const StateScope scope;
  return result(computable_states()[0]);
}

} // namespace devsan::metrics
