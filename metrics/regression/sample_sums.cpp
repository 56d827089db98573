#include "metrics/regression/sample_sums.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/fused.h"
#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

using detail::Wide;

// Of the samples without weights; the weight of the others and the sums follow.
enum StateIndex { kTotal, kOutOfRange };

// Numbers of a widened part on the CPU: 64 KiB, so that a few temporaries stay in the second-level
// cache and come from the allocator's lists.
constexpr int64_t kCacheBlock = 8192;

Accumulation format_of(const at::Tensor &state) {
  return state.scalar_type() == at::kDouble ? Accumulation::kDouble : Accumulation::kFloatPair;
}

// Adds the rows of a batch to a state.
void add_rows(at::Tensor &state, const at::Tensor &rows) {
  const Wide sum = Wide::from(rows.sum(0), format_of(state));
  state = (Wide::from_state(state) + sum).to_state();
}

} // namespace

std::vector<Metric::StateSpec> SampleSums::specs(const Traits &traits) {
  std::vector<StateSpec> specs{{"total", {1}, StateSpec::Kind::kCount}};
  if (traits.domain)
    specs.push_back({"out_of_range", {1}, StateSpec::Kind::kCount});
  specs.push_back({"weight", {1}, StateSpec::Kind::kMoment});
  for (const std::string &sum : traits.sums)
    specs.push_back({sum, {traits.num_outputs}, StateSpec::Kind::kMoment});
  return specs;
}

SampleSums::SampleSums(Traits traits)
    : RegressionMetric(specs(traits), traits.num_outputs, traits.dtype, traits.accumulation),
      traits_(std::move(traits)) {}

at::Tensor SampleSums::outside_domain(const at::Tensor &, const at::Tensor &) const {
  return {};
}

std::vector<at::Tensor> SampleSums::terms(const at::Tensor &preds, const at::Tensor &target) const {
  return traits_.formula->terms(preds, target);
}

std::optional<std::vector<double>> SampleSums::fused(const at::Tensor &preds,
                                                     const at::Tensor &target) const {
  return traits_.formula ? traits_.formula->fused(preds, target, adding()) : std::nullopt;
}

void SampleSums::check_rows(const at::Tensor &preds, const at::Tensor &target) const {
  TORCH_CHECK(preds.dim() == 2 && preds.size(1) >= 1, name(), ": ", traits_.rows, " but got ",
              preds.dim(), " and ", target.dim(), " respectively, of shape ", preds.sizes(),
              "; pass [N, D] with D of at least 1");
}

// [N, num_outputs] or [N, D].
at::Tensor SampleSums::samples(const char *input_name, const at::Tensor &input) const {
  if (traits_.samples == Samples::kRows)
    return input;
  TORCH_CHECK(num_outputs() == 1 || (input.dim() == 2 && input.size(1) == num_outputs()), name(),
              ": `", input_name, "` has shape ", input.sizes(), ", but num_outputs is ",
              num_outputs(), "; pass [N, ", num_outputs(), "]");
  return input.reshape({-1, num_outputs()});
}

bool SampleSums::update_fused(const at::Tensor &preds, const at::Tensor &target) {
  if (!preds.is_cpu() || num_outputs() != 1 ||
      accumulation_on(preds.device()) != Accumulation::kDouble)
    return false;
  const bool rows = traits_.samples == Samples::kRows;
  const std::optional<std::vector<double>> sums = fused(preds, target);
  if (!sums)
    return false;
  std::vector<at::Tensor> states = states_on(preds.device());
  add_number(states[kTotal], rows ? preds.size(0) : preds.numel());
  const size_t first = states.size() - sums->size();
  for (size_t i = 0; i < sums->size(); ++i)
    add_number(states[first + i], (*sums)[i]);
  set_states(std::move(states));
  return true;
}

void SampleSums::update(const at::Tensor &preds, const at::Tensor &target,
                        const at::Tensor &weight) {
  check_pairs(preds, target);
  if (traits_.samples == Samples::kRows)
    check_rows(preds, target);
  const StateScope scope;
  if (!weight.defined() && update_fused(preds, target))
    return;
  const at::Tensor all_preds = samples("preds", preds), all_target = samples("target", target);
  const int64_t n = all_preds.size(0);
  at::Tensor all_weights;
  if (weight.defined()) {
    check_inputs({{"preds", preds}, {"weight", weight}});
    const bool per_element = traits_.samples == Samples::kElements && num_outputs() == 1;
    check_weight(name(), weight, per_element ? preds.sizes() : at::IntArrayRef{n});
    all_weights = weight.reshape({n, 1});
  }
  const at::ScalarType base = detail::base_dtype(accumulation_on(preds.device()));

  std::vector<at::Tensor> states = states_on(preds.device());
  const size_t first = states.size() - traits_.sums.size();
  const int64_t columns = std::max<int64_t>(all_preds.size(1), 1);
  const int64_t block = std::max<int64_t>(preds.is_cpu() ? kCacheBlock / columns : n, 1);
  at::Tensor left_out;
  for (int64_t start = 0; start == 0 || start < n; start += block) {
    const auto part = [&](const at::Tensor &all) {
      return (block < n ? all.narrow(0, start, std::min(block, n - start)) : all).to(base);
    };
    const at::Tensor x = part(all_preds), y = part(all_target);
    std::vector<at::Tensor> batch = terms(x, y);
    at::Tensor weights = all_weights.defined() ? part(all_weights) : at::Tensor();
    if (traits_.domain) {
      const at::Tensor outside = outside_domain(x, y);
      left_out = left_out.defined() ? left_out + outside.sum() : outside.sum();
      for (at::Tensor &term : batch)
        term = term.masked_fill(outside, 0);
      if (weights.defined())
        weights = weights.masked_fill(outside, 0);
    }
    if (weights.defined()) {
      for (at::Tensor &term : batch)
        term = term * weights;
      add_rows(states[first - 1], weights);
    }
    for (size_t i = 0; i < batch.size(); ++i)
      add_rows(states[first + i], batch[i]);
  }
  if (!weight.defined())
    states[kTotal] = states[kTotal] + n;
  if (traits_.domain) {
    if (validates_eagerly(traits_.domain->validate, preds)) {
      // NOLINTNEXTLINE(device-host-sync): the CPU's own memory, or asked for by Validate::kEager
      const auto count = left_out.item<int64_t>();
      TORCH_CHECK(count == 0, name(), ": ", count, " of ", n,
                  " samples are not among those it is defined for, ", traits_.domain->text,
                  "; correct them");
    }
    if (!weight.defined())
      states[kTotal] = states[kTotal] - left_out;
    states[kOutOfRange] = states[kOutOfRange] + left_out;
  }
  set_states(std::move(states));
}

at::Tensor SampleSums::sum(size_t index) const {
  const std::vector<at::Tensor> &states = computable_states();
  return Wide::from_state(states[states.size() - traits_.sums.size() + index]).rounded();
}

at::Tensor SampleSums::mean() const {
  const std::vector<at::Tensor> &states = computable_states();
  const size_t first = states.size() - traits_.sums.size();
  const Wide weight =
      Wide::from(states[kTotal], format_of(states[first])) + Wide::from_state(states[first - 1]);
  return (Wide::from_state(states[first]) / weight).rounded();
}

at::Tensor SampleSums::compute() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  if (!traits_.domain)
    return shaped_result(value());
  const at::Tensor &out_of_range = states[kOutOfRange];
  if (out_of_range.is_cpu())
    check_valid();
  return shaped_result(value().masked_fill(out_of_range.gt(0), NAN));
}

void SampleSums::check_valid() const {
  if (!traits_.domain)
    return;
  const auto count = computable_states()[kOutOfRange].item<int64_t>();
  TORCH_CHECK(count == 0, name(), ": ", count, " samples were not among those it is defined for, ",
              traits_.domain->text, ", and were left out; correct them");
}

} // namespace devsan::metrics
