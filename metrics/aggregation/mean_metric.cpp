#include "metrics/aggregation/mean_metric.h"

#include <ATen/ATen.h>

#include "metrics/aggregation/running.h"

namespace devsan::metrics {
namespace {

enum StateIndex { kMeanValue, kWeight };

} // namespace

MeanMetric::MeanMetric(const MeanMetricOptions &options)
    : Aggregator({{"mean_value", {1}, StateSpec::Kind::kMoment},
                  {"weight", {1}, StateSpec::Kind::kMoment}},
                 options) {}

MeanMetric::MeanMetric(const AggregatorOptions &options, int64_t window)
    : Aggregator({{"mean_value", {1}, StateSpec::Kind::kMoment},
                  {"weight", {1}, StateSpec::Kind::kMoment}},
                 options, window) {}

RunningMean::RunningMean(const RunningMeanOptions &options)
    : MeanMetric(without_window(options), checked_window("RunningMean", options.window())) {}

void MeanMetric::update(const at::Tensor &value, const at::Tensor &weight) {
  check(value, weight);
  const StateScope scope;
  if (!weight.defined() && fold_fused(value, /*counted=*/true))
    return;
  const Batch values = batch(value, weight);
  if (weight.defined()) {
    fold({moment((values.value * values.weight).sum()), moment(values.weight.sum())}, values);
    return;
  }
  const at::Tensor sum = values.value.sum();
  at::Tensor count = at::full({}, values.value.numel(), sum.options());
  if (values.left_out.defined())
    count = count - values.left_out.sum();
  fold({moment(sum), moment(count)}, values);
}

void MeanMetric::update(const at::Tensor &value, double weight) {
  check_inputs({{"value", value}});
  const StateScope scope;
  update(value, at::full({}, weight, real_on(value.device())));
}

at::Tensor MeanMetric::compute() const {
  const StateScope scope;
  return result(quotient(kMeanValue, kWeight));
}

} // namespace devsan::metrics
