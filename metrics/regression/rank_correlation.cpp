#include "metrics/regression/rank_correlation.h"

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

RankCorrelation::Places RankCorrelation::places(const at::Tensor &x) {
  const at::Tensor sorted = std::get<0>(x.sort(1));
  return {sorted, at::searchsorted(sorted, x),
          at::searchsorted(sorted, x, /*out_int32=*/false, /*right=*/true)};
}

} // namespace devsan::metrics
