#include "metrics/regression/rank_correlation.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/meta.h"
#include "metrics/detail/wide.h"

namespace devsan::metrics {

RankCorrelation::RankCorrelation(int64_t num_outputs, at::ScalarType dtype)
    : RegressionMetric(
          {{"preds", {}, StateSpec::Kind::kList}, {"target", {}, StateSpec::Kind::kList}},
          num_outputs, dtype, std::nullopt) {}

void RankCorrelation::update(const at::Tensor &preds, const at::Tensor &target) {
  check_columns(preds, target);
  const StateScope scope;
  const auto rows = [&](const at::Tensor &x) {
    return num_outputs() == 1 && x.dim() == 2 ? x.squeeze(1) : x;
  };
  append({rows(preds), rows(target)});
}

void RankCorrelation::check_loaded(const std::vector<at::Tensor> &states) const {
  if (!all_empty(states))
    check_columns(states[0], states[1]);
}

RankCorrelation::All RankCorrelation::all() const {
  const std::vector<at::Tensor> &states = computable_states();
  const auto columns = [&](const at::Tensor &list) {
    return list.reshape({-1, num_outputs()}).t().contiguous();
  };
  All all{columns(states[0]), columns(states[1]), states[0].size(0), {}, {}};
  all.any_nan = detail::is_nan(all.preds).any(1).bitwise_or(detail::is_nan(all.target).any(1));
  all.base = detail::base_dtype(accumulation_on(all.preds.device()));
  return all;
}

at::Tensor RankCorrelation::undefined(const All &inputs) const {
  return shaped_result(at::full({num_outputs()}, NAN, inputs.preds.options().dtype(inputs.base)));
}

at::Tensor RankCorrelation::Places::restored(const at::Tensor &sorted_values) const {
  return at::empty_like(sorted_values).scatter(1, order, sorted_values);
}

RankCorrelation::Places RankCorrelation::places(const at::Tensor &x) {
  const auto [sorted, order] = x.sort(1);
  const int64_t n = x.size(1);
  const at::Tensor changes = sorted.narrow(1, 1, n - 1).ne(sorted.narrow(1, 0, n - 1));
  const at::Tensor end = at::ones({x.size(0), 1}, changes.options());
  const at::Tensor position = at::arange(n, order.options()).expand_as(order);
  // The last start of a group of equal numbers, and the next end.
  const at::Tensor starts = position.masked_fill(at::cat({end, changes}, 1).bitwise_not(), 0);
  const at::Tensor ends =
      (position + 1).masked_fill(at::cat({changes, end}, 1).bitwise_not(), n).flip(1);
  return {sorted, order, std::get<0>(starts.cummax(1)), std::get<0>(ends.cummin(1)).flip(1)};
}

} // namespace devsan::metrics
