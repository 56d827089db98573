#include "metrics/aggregation/cat_metric.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/meta.h"

namespace devsan::metrics {
namespace {

// bool [N]
at::Tensor nan_rows(const at::Tensor &rows) {
  return detail::is_nan(rows).reshape({rows.size(0), -1}).any(1);
}

} // namespace

CatMetric::CatMetric(const CatMetricOptions &options)
    : Metric({{"value", {}, StateSpec::Kind::kList}}), options_(options) {}

void CatMetric::check_no_nan(const at::Tensor &nan_rows) const {
  // NOLINTNEXTLINE(device-host-sync): the CPU's own memory, or asked for by Validate::kEager
  const auto count = nan_rows.sum().item<int64_t>();
  TORCH_CHECK(count == 0, name(), ": Encountered `nan` values in tensor: ", count, " of ",
              nan_rows.size(0), "; correct them, or choose another nan_strategy");
}

void CatMetric::update(const at::Tensor &value) {
  check_inputs({{"value", value}});
  const StateScope scope;
  const at::Tensor rows = value.dim() == 0 ? value.unsqueeze(0) : value;
  if (options_.nan_strategy().action() == NanStrategy::kError && rows.numel() != 0 &&
      validates_eagerly(options_.validate(), rows))
    check_no_nan(nan_rows(rows));
  append({rows});
}

void CatMetric::update(double value) {
  const at::Device on = device().value_or(at::kCPU);
  update(at::full({1}, value, at::TensorOptions().device(on)));
}

at::Tensor CatMetric::compute() const {
  const StateScope scope;
  const at::Tensor &all = computable_states()[0];
  if (all.numel() == 0 || !(all.is_floating_point() || all.is_complex()))
    return all;
  const NanStrategy &strategy = options_.nan_strategy();
  switch (strategy.action()) {
  case NanStrategy::kDisable:
    return all;
  case NanStrategy::kReplace:
    return all.masked_fill(detail::is_nan(all), strategy.replacement());
  case NanStrategy::kError: {
    const at::Tensor nan = nan_rows(all);
    if (all.is_cpu())
      check_no_nan(nan);
    return all.masked_fill(nan.any(), NAN);
  }
  case NanStrategy::kWarn:
  case NanStrategy::kIgnore: {
    // Waits, for the size of the result.
    const at::Tensor kept = nan_rows(all).bitwise_not().nonzero().squeeze(1);
    const int64_t left_out = all.size(0) - kept.size(0);
    if (left_out > 0 && strategy.action() == NanStrategy::kWarn)
      TORCH_WARN(name(), ": Encountered `nan` values in tensor. Will be removed: ", left_out);
    return left_out > 0 ? all.index_select(0, kept) : all;
  }
  }
  return all;
}

std::string CatMetric::signature() const {
  return "nan_strategy=" + options_.nan_strategy().text();
}

} // namespace devsan::metrics
