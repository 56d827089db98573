#include "metrics/regression/sample_sums.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

using detail::Wide;

// The sums follow them.
enum StateIndex { kTotal, kOutOfRange };

Accumulation format_of(const at::Tensor &state) {
  return state.scalar_type() == at::kDouble ? Accumulation::kDouble : Accumulation::kFloatPair;
}

} // namespace

std::vector<Metric::StateSpec> SampleSums::specs(const Traits &traits) {
  std::vector<StateSpec> specs{{"total", {1}, StateSpec::Kind::kCount}};
  if (traits.domain)
    specs.push_back({"out_of_range", {1}, StateSpec::Kind::kCount});
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

at::Tensor SampleSums::samples(const char *input_name, const at::Tensor &input) const {
  const at::ScalarType base = detail::base_dtype(accumulation_on(input.device()));
  if (traits_.samples == Samples::kRows) {
    TORCH_CHECK(input.dim() == 2 && input.size(1) >= 1, name(), ": `", input_name, "` has shape ",
                input.sizes(), "; pass [N, D] with D of at least 1");
    return input.to(base);
  }
  TORCH_CHECK(num_outputs() == 1 || (input.dim() == 2 && input.size(1) == num_outputs()), name(),
              ": `", input_name, "` has shape ", input.sizes(), ", but num_outputs is ",
              num_outputs(), "; pass [N, ", num_outputs(), "]");
  return input.reshape({-1, num_outputs()}).to(base);
}

void SampleSums::update(const at::Tensor &preds, const at::Tensor &target) {
  check_pairs(preds, target);
  const StateScope scope;
  const at::Tensor x = samples("preds", preds), y = samples("target", target);

  std::vector<at::Tensor> batch = terms(x, y);
  std::vector<at::Tensor> states = states_on(preds.device());
  states[kTotal] = states[kTotal] + x.size(0);
  if (traits_.domain) {
    const at::Tensor outside = outside_domain(x, y);
    const at::Tensor left_out = outside.sum();
    if (validates_eagerly(traits_.domain->validate, preds)) {
      // NOLINTNEXTLINE(device-host-sync): the CPU's own memory, or asked for by Validate::kEager
      const auto count = left_out.item<int64_t>();
      TORCH_CHECK(count == 0, name(), ": ", count, " of ", x.size(0),
                  " samples are not among those it is defined for, ", traits_.domain->text,
                  "; correct them");
    }
    for (at::Tensor &term : batch)
      term = term.masked_fill(outside, 0);
    states[kTotal] = states[kTotal] - left_out;
    states[kOutOfRange] = states[kOutOfRange] + left_out;
  }
  const size_t first = states.size() - batch.size();
  for (size_t i = 0; i < batch.size(); ++i) {
    at::Tensor &state = states[first + i];
    const Wide term_sum = Wide::from(batch[i].sum(0), format_of(state));
    state = (Wide::from_state(state) + term_sum).to_state();
  }
  set_states(std::move(states));
}

at::Tensor SampleSums::sum(size_t index) const {
  const std::vector<at::Tensor> &states = computable_states();
  return Wide::from_state(states[states.size() - traits_.sums.size() + index]).rounded();
}

at::Tensor SampleSums::mean() const {
  const std::vector<at::Tensor> &states = computable_states();
  const at::Tensor &state = states[states.size() - traits_.sums.size()];
  return (Wide::from_state(state) / Wide::from(states[kTotal], format_of(state))).rounded();
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
