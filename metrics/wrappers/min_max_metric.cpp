#include "metrics/wrappers/min_max_metric.h"

#include <limits>

#include <ATen/ATen.h>

#include "metrics/detail/meta.h"
#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

enum StateIndex { kMinVal, kMaxVal };

} // namespace

MinMaxMetric::MinMaxMetric(const SupervisedMetric &base_metric)
    : WrapperMetric(
          {{"min_val", {}, StateSpec::Kind::kMinimum}, {"max_val", {}, StateSpec::Kind::kMaximum}}),
      base_(fresh_part("MinMaxMetric", base_metric)) {}

void MinMaxMetric::update(const at::Tensor &preds, const at::Tensor &target) {
  base_->update(preds, target);
}

at::Tensor MinMaxMetric::compute() const {
  const StateScope scope;
  const at::Tensor value = base_->compute();
  TORCH_CHECK(value.numel() == 1, name(), ": ", base_->name(), " has a value of shape ",
              value.sizes(), ", of which there is no largest; pass a metric of one value");
  const at::Tensor raw =
      value.reshape({}).to(value.is_floating_point() ? value.scalar_type() : at::kFloat);
  const at::Tensor real = raw.to(detail::base_dtype(accumulation_on(raw.device())));
  const at::Tensor nan = detail::is_nan(real);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  keep_extremes({real.masked_fill(nan, kInfinity), real.masked_fill(nan, -kInfinity)});
  const auto extreme = [&](StateIndex index) { return states()[index].to(raw.scalar_type()); };
  return at::stack({raw, extreme(kMaxVal), extreme(kMinVal)});
}

torch::OrderedDict<std::string, at::Tensor> MinMaxMetric::compute_dict() const {
  const std::vector<at::Tensor> values = compute().unbind();
  torch::OrderedDict<std::string, at::Tensor> named("Value");
  named.insert("raw", values[0]);
  named.insert("max", values[1]);
  named.insert("min", values[2]);
  return named;
}

void MinMaxMetric::collect(const std::string &prefix, Holders &holders) const {
  WrapperMetric::collect(prefix, holders);
  collect_from(*base_, prefix + "base_metric.", holders);
}

} // namespace devsan::metrics
