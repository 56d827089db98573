#include "metrics/classification/sample_loss.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

using detail::Wide;

enum StateIndex { kTotal, kOutOfRange, kWeight, kLoss };

// Numbers of a part whose softmax stays in the cache.
constexpr int64_t kCacheBlock = 1 << 16;

Accumulation format_of(const at::Tensor &state) {
  return state.scalar_type() == at::kDouble ? Accumulation::kDouble : Accumulation::kFloatPair;
}

at::Tensor with_sums(const at::Tensor &state, const std::vector<double> &sums) {
  const at::Tensor result = at::detail::empty_cpu(state.sizes(), at::kDouble);
  const double *from = state.const_data_ptr<double>();
  double *to = result.mutable_data_ptr<double>();
  for (size_t i = 0; i < sums.size(); ++i)
    to[i] = from[i] + sums[i];
  return result;
}

} // namespace

SampleLoss::SampleLoss(std::string name, Traits traits)
    : SupervisedMetric({{"total", {1}, StateSpec::Kind::kCount},
                        {"out_of_range", {1}, StateSpec::Kind::kCount},
                        {"weight", {1}, StateSpec::Kind::kMoment},
                        {"loss", {traits.outputs}, StateSpec::Kind::kMoment}},
                       traits.accumulation),
      name_(std::move(name)), traits_(std::move(traits)), fault_(traits_.config) {
  traits_.config.of_scores = fault_.of_scores = true;
  fault_.from_logits |= !traits_.of_probabilities;
  traits_.config.check(name_);
}

void SampleLoss::check_shapes(const at::Tensor &preds, const at::Tensor &target) const {
  metrics::check_shapes(config(), name_, preds, target);
  TORCH_CHECK(preds.is_floating_point(), name_, ": `preds` has dtype ", preds.scalar_type(),
              "; pass floating scores");
}

at::Tensor SampleLoss::rows(const at::Tensor &preds) const {
  return score_rows(config(), preds);
}

void SampleLoss::update(const at::Tensor &preds, const at::Tensor &target,
                        const at::Tensor &weight) {
  if (weight.defined())
    check_inputs({{"preds", preds}, {"target", target}, {"weight", weight}});
  else
    check_inputs({{"preds", preds}, {"target", target}});
  check_shapes(preds, target);
  check_weight(name_, weight, target.sizes());
  const StateScope scope;
  const bool on_cpu = preds.is_cpu() && accumulation_on(preds.device()) == Accumulation::kDouble;
  (this->*(on_cpu ? &SampleLoss::update_on_cpu : &SampleLoss::update_on_device))(
      rows(as_probabilities(config(), preds, target)), target, weight);
}

void SampleLoss::update_on_cpu(const at::Tensor &rows, const at::Tensor &target,
                               const at::Tensor &weight) {
  const at::Tensor labels = target.resolve_neg().to(at::kLong).contiguous();
  const at::Tensor weights =
      weight.defined() ? weight.resolve_neg().to(at::kDouble).contiguous() : weight;
  const int64_t n = labels.numel(), width = rows.size(1);
  const int64_t classes = config().task == Task::kBinary ? 2 : width;
  const int64_t block = std::max<int64_t>(kCacheBlock / std::max<int64_t>(width, 1), 1);
  LossSums sums{std::vector<double>(traits_.outputs)};
  for (int64_t first = 0; first < n; first += block) {
    const int64_t length = std::min(block, n - first);
    const at::Tensor part =
        scores(length == n ? rows : rows.narrow(0, first, length)).resolve_neg().contiguous();
    const int64_t *label = labels.const_data_ptr<int64_t>() + first;
    const double *factor = weights.defined() ? weights.const_data_ptr<double>() + first : nullptr;
    if (part.scalar_type() == at::kDouble)
      add(detail::ScoreRows<double>{part.const_data_ptr<double>(), label, length, width, classes,
                                    config().ignore_index},
          factor, sums);
    else
      add(detail::ScoreRows<float>{part.const_data_ptr<float>(), label, length, width, classes,
                                   config().ignore_index},
          factor, sums);
  }
  if (validates_eagerly(config().validate, rows))
    refuse_out_of_range(fault_, name_, sums.out_of_range, n);

  std::vector<at::Tensor> states = states_on(rows.device());
  states[kLoss] = with_sums(states[kLoss], sums.losses);
  if (sums.out_of_range)
    add_number(states[kOutOfRange], sums.out_of_range);
  if (weight.defined())
    add_number(states[kWeight], sums.weight);
  else
    add_number(states[kTotal], sums.counted);
  set_states(std::move(states));
}

void SampleLoss::update_on_device(const at::Tensor &rows, const at::Tensor &target,
                                  const at::Tensor &weight) {
  const at::Tensor labels = target.reshape({-1, 1}).to(at::kLong);
  const at::Tensor all = scores(rows);
  const int64_t classes = config().task == Task::kBinary ? 2 : rows.size(1);
  const at::Tensor in_range = of_probabilities() ? all.ge(0).bitwise_and(all.le(1)) : all.eq(all);
  const at::Tensor valid =
      in_range.all(1, /*keepdim=*/true).bitwise_and(labels.ge(0)).bitwise_and(labels.lt(classes));
  at::Tensor counted = valid, out_of_range = valid.bitwise_not();
  if (config().ignore_index) {
    const at::Tensor ignored = labels.eq(*config().ignore_index);
    counted = valid.bitwise_and(ignored.bitwise_not());
    out_of_range = out_of_range.bitwise_and(ignored.bitwise_not());
  }
  out_of_range = out_of_range.sum();
  if (validates_eagerly(config().validate, rows)) {
    // NOLINTNEXTLINE(device-host-sync): asked for by Validate::kEager
    refuse_out_of_range(fault_, name_, out_of_range.item<int64_t>(), labels.size(0));
  }

  std::vector<at::Tensor> states = states_on(rows.device());
  const Accumulation format = format_of(states[kLoss]);
  const at::ScalarType base = detail::base_dtype(format);
  const at::Tensor left_out = counted.bitwise_not();
  at::Tensor losses = this->losses(all, labels.masked_fill(left_out, 0)).to(base);
  losses = losses.masked_fill(left_out, 0);
  const auto with = [&](const at::Tensor &state, const at::Tensor &sum) {
    return (Wide::from_state(state) + Wide::from(sum, format)).to_state();
  };
  if (weight.defined()) {
    const at::Tensor weights = weight.reshape({-1, 1}).to(base).masked_fill(left_out, 0);
    losses = losses * weights;
    states[kWeight] = with(states[kWeight], weights.sum(0));
  } else {
    states[kTotal] = states[kTotal] + counted.sum();
  }
  states[kLoss] = with(states[kLoss], losses.sum(0));
  states[kOutOfRange] = states[kOutOfRange] + out_of_range;
  set_states(std::move(states));
}

at::Tensor SampleLoss::compute() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  const at::Tensor &out_of_range = states[kOutOfRange];
  const Wide loss = Wide::from_state(states[kLoss]);
  const Wide weight =
      Wide::from(states[kTotal], format_of(states[kLoss])) + Wide::from_state(states[kWeight]);
  const at::Tensor reduced =
      (traits_.reduction == Reduction::kSum ? loss : loss / weight).rounded();
  if (out_of_range.is_cpu())
    check_valid();
  return shaped_result(value(reduced).masked_fill(out_of_range.gt(0), NAN), traits_.dtype);
}

void SampleLoss::check_valid() const {
  check_none_left_out(fault_, name_, computable_states()[kOutOfRange]);
}

std::string SampleLoss::signature() const {
  return config().signature() +
         c10::str(", outputs=", traits_.outputs,
                  ", reduction=", traits_.reduction == Reduction::kSum ? "sum" : "mean",
                  ", accumulation=", accumulation_name());
}

} // namespace devsan::metrics
