#include "metrics/aggregation/aggregator.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include "metrics/detail/fused.h"
#include "metrics/detail/meta.h"
#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

using detail::Lanes;
using detail::LaneSums;
using detail::Wide;

bool reports(const NanStrategy &strategy) {
  return strategy.action() == NanStrategy::kError || strategy.action() == NanStrategy::kWarn;
}

// [1 or 2, window] to [1 or 2, 1].
at::Tensor summed(at::Tensor state) {
  while (state.size(1) > 1) {
    const int64_t half = state.size(1) / 2;
    const at::Tensor sum =
        (Wide::from_state(state.narrow(1, 0, half)) + Wide::from_state(state.narrow(1, half, half)))
            .to_state();
    state = state.size(1) % 2 == 0 ? sum : at::cat({sum, state.narrow(1, 2 * half, 1)}, 1);
  }
  return state;
}

// The largest or smallest of at least one value; none where one is NaN.
template <bool largest, typename T> std::optional<double> extreme_of(const T *x, int64_t n) {
  constexpr int64_t kLanes = 64 / sizeof(T);
  typedef T Vector __attribute__((vector_size(64)));
  const auto nearer = [](const auto &a, const auto &b) { return largest ? a > b : a < b; };
  Vector best = Vector{} + x[0];
  auto nan = best != best; // NOLINT(misc-redundant-expression): vectors have no isnan
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Vector block;
    std::memcpy(&block, x + i, sizeof(block));
    best = nearer(block, best) ? block : best;
    nan |= block != block; // NOLINT(misc-redundant-expression): vectors have no isnan
  }
  T all = best[0];
  bool any = false;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    all = nearer(best[lane], all) ? best[lane] : all;
    any |= nan[lane] != 0;
  }
  for (; i < n; ++i) {
    all = nearer(x[i], all) ? x[i] : all;
    any |= std::isnan(x[i]);
  }
  return any ? std::nullopt : std::optional(static_cast<double>(all));
}

template <bool largest> std::optional<double> extreme_on_cpu(const at::Tensor &value) {
  if (value.numel() == 0)
    return std::nullopt;
  const auto extreme =
      detail::with_numbers(value, value, [](const auto *x, const auto *, int64_t n) {
        return extreme_of<largest>(x, n);
      });
  return extreme ? *extreme : std::nullopt;
}

} // namespace

std::vector<Metric::StateSpec> Aggregator::windowed(std::vector<StateSpec> states, bool count_nans,
                                                    std::optional<int64_t> window) {
  if (count_nans)
    states.push_back({"nans", {1}, StateSpec::Kind::kCount});
  if (window)
    for (StateSpec &state : states)
      state.sizes = {*window};
  return states;
}

Aggregator::Aggregator(const std::vector<StateSpec> &states, const AggregatorOptions &options,
                       std::optional<int64_t> window)
    : Metric(windowed(states, reports(options.nan_strategy()), window), options.accumulation()),
      options_(options), window_(window) {}

at::TensorOptions Aggregator::real_on(at::Device device) const {
  return at::TensorOptions().device(device).dtype(detail::base_dtype(accumulation_on(device)));
}

at::Tensor Aggregator::scalar(double number) const {
  return at::full({}, number, real_on(device().value_or(at::kCPU)));
}

void Aggregator::check(const at::Tensor &value, const at::Tensor &weight) const {
  if (weight.defined())
    check_inputs({{"value", value}, {"weight", weight}});
  else
    check_inputs({{"value", value}});
  for (const auto &[input_name, input] :
       {std::pair<const char *, const at::Tensor &>("value", value), {"weight", weight}})
    TORCH_CHECK(!input.defined() || !input.is_complex(), name(), ": `", input_name, "` has dtype ",
                input.scalar_type(), "; pass real numbers");
  TORCH_CHECK(!weight.defined() || at::is_expandable_to(weight.sizes(), value.sizes()), name(),
              ": `weight` has shape ", weight.sizes(),
              ", which does not broadcast to that of `value`, ", value.sizes(),
              "; pass one weight, or one for each value");
}

Aggregator::Batch Aggregator::masked(Batch batch) const {
  const NanStrategy &strategy = options_.nan_strategy();
  if (strategy.action() == NanStrategy::kDisable)
    return batch;
  at::Tensor nan = detail::is_nan(batch.value);
  if (batch.weight.defined())
    nan = nan.bitwise_or(detail::is_nan(batch.weight));
  const bool replace = strategy.action() == NanStrategy::kReplace;
  if (batch.value.is_floating_point())
    batch.value = batch.value.masked_fill(nan, replace ? strategy.replacement() : 0);
  if (batch.weight.defined())
    batch.weight = batch.weight.masked_fill(nan, replace ? 1 : 0);
  if (!replace)
    batch.left_out = nan;
  return batch;
}

Aggregator::Batch Aggregator::batch(const at::Tensor &value, const at::Tensor &weight) const {
  const at::ScalarType base = detail::base_dtype(accumulation_on(value.device()));
  return masked(
      {value.reshape(-1).to(base),
       weight.defined() ? weight.to(base).expand(value.sizes()).reshape(-1) : at::Tensor(),
       {}});
}

Aggregator::Batch Aggregator::batch_as_it_is(const at::Tensor &value) const {
  const at::Tensor numbers = detail::is_storage_only(value.scalar_type())
                                 ? value.to(detail::base_dtype(accumulation_on(value.device())))
                                 : value;
  return masked({numbers.reshape(-1), {}, {}});
}

bool Aggregator::fold_fused(const at::Tensor &value, bool counted) {
  if (!value.is_cpu() || accumulation_on(value.device()) != Accumulation::kDouble)
    return false;
  const NanStrategy &strategy = options_.nan_strategy();
  const bool leave = strategy.action() == NanStrategy::kDisable;
  const double instead = strategy.action() == NanStrategy::kReplace ? strategy.replacement() : 0;
  // A sum that is no NaN is of values of which none is.
  const auto plain =
      detail::fused_sums<1>(value, value, detail::adding_for(options_.dtype()),
                            [](const auto &x, const auto &, auto &sums) { sums[0] += x; });
  if (!plain)
    return false;
  double sum = (*plain)[0], nans = 0;
  if (sum != sum && !leave) {
    const auto sums =
        detail::fused_sums<2>(value, value, [=](const Lanes &x, const Lanes &, LaneSums<2> &sums) {
          sums[0] += where_nan(x, instead, x);
          sums[1] += where_nan(x, 1, 0);
        });
    sum = (*sums)[0];
    nans = (*sums)[1];
  }
  const auto n = static_cast<double>(value.numel());
  const bool left_out = !leave && strategy.action() != NanStrategy::kReplace;
  const bool eager = validates_eagerly(options_.validate(), value);
  if (reports(strategy) && eager)
    report(static_cast<int64_t>(nans));

  std::vector<at::Tensor> states = states_on(value.device());
  const auto fold_in = [&](at::Tensor &state, auto number) {
    if (!window_) {
      add_number(state, number);
      return;
    }
    state = state.roll(1, -1);
    *state.template mutable_data_ptr<decltype(number)>() = number;
  };
  fold_in(states[0], sum);
  if (counted)
    fold_in(states[1], left_out ? n - nans : n);
  if (reports(strategy) && (window_ || !eager))
    fold_in(states.back(), eager ? int64_t{0} : static_cast<int64_t>(nans));
  set_states(std::move(states));
  return true;
}

at::Tensor Aggregator::moment(const at::Tensor &sum) const {
  return Wide::from(sum.reshape(1), accumulation_on(sum.device())).to_state();
}

void Aggregator::fold_extreme(const at::Tensor &value, Extreme extreme) {
  check(value);
  const StateScope scope;
  const bool largest = extreme == Extreme::kMaximum;
  if (accumulation_on(value.device()) == Accumulation::kDouble) {
    const std::optional<double> batch =
        largest ? extreme_on_cpu<true>(value) : extreme_on_cpu<false>(value);
    if (batch) {
      std::vector<at::Tensor> states = states_on(value.device());
      const double old = *states[0].const_data_ptr<double>();
      if (largest ? *batch > old : *batch < old)
        set_number(states[0], *batch);
      set_states(std::move(states));
      return;
    }
  }
  const Batch values = batch_as_it_is(value);
  const double none = std::numeric_limits<double>::infinity() * (largest ? -1 : 1);
  at::Tensor seen = values.value;
  if (values.left_out.defined() && seen.is_floating_point())
    seen = seen.masked_fill(values.left_out, none);
  const at::TensorOptions real = real_on(value.device());
  if (seen.numel() == 0)
    seen = at::full({1}, none, real);
  else
    seen = largest ? seen.amax(0, /*keepdim=*/true) : seen.amin(0, /*keepdim=*/true);
  fold({seen.to(c10::typeMetaToScalarType(real.dtype()))}, values);
}

void Aggregator::fold(std::vector<at::Tensor> batch_states, const Batch &batch) {
  const at::Device on = batch.value.device();
  if (reports(options_.nan_strategy())) {
    at::Tensor nans = batch.left_out.sum().reshape(1);
    if (validates_eagerly(options_.validate(), batch.value)) {
      // NOLINTNEXTLINE(device-host-sync): the CPU's own memory, or asked for by Validate::kEager
      report(nans.item<int64_t>());
      nans = at::zeros_like(nans); // so that it is not reported again
    }
    batch_states.push_back(nans);
  }
  const std::vector<at::Tensor> states = states_on(on);
  if (!window_) {
    set_states(merged(states, batch_states));
    return;
  }
  std::vector<at::Tensor> moved;
  for (size_t i = 0; i < states.size(); ++i)
    moved.push_back(at::cat({batch_states[i], states[i].narrow(-1, 0, *window_ - 1)}, -1));
  set_states(std::move(moved));
}

at::Tensor Aggregator::total(size_t index) const {
  return Wide::from_state(summed(computable_states()[index])).rounded();
}

at::Tensor Aggregator::quotient(size_t numerator, size_t denominator) const {
  const std::vector<at::Tensor> &states = computable_states();
  return (Wide::from_state(summed(states[numerator])) /
          Wide::from_state(summed(states[denominator])))
      .rounded();
}

at::Tensor Aggregator::result(const at::Tensor &value) const {
  if (!reports(options_.nan_strategy()))
    return shaped_result(value, options_.dtype());
  const at::Tensor &nans = computable_states().back();
  if (nans.is_cpu())
    check_nan();
  const bool poison = options_.nan_strategy().action() == NanStrategy::kError;
  return shaped_result(poison ? value.masked_fill(nans.gt(0).any(), NAN) : value, options_.dtype());
}

void Aggregator::check_nan() const {
  if (reports(options_.nan_strategy()))
    report(computable_states().back().sum().item<int64_t>());
}

void Aggregator::report(int64_t nans) const {
  if (nans == 0)
    return;
  TORCH_CHECK(options_.nan_strategy().action() == NanStrategy::kWarn, name(),
              ": Encountered `nan` values in tensor: ", nans,
              " values (or their weights); correct them, or choose another nan_strategy");
  TORCH_WARN(name(), ": Encountered `nan` values in tensor. Will be removed: ", nans,
             " values (or their weights)");
}

std::string Aggregator::signature() const {
  return c10::str("nan_strategy=", options_.nan_strategy().text(),
                  ", window=", window_ ? std::to_string(*window_) : "none",
                  ", accumulation=", accumulation_name());
}

} // namespace devsan::metrics
